"""`pronk serve` under load, on one machine over loopback, beside `pronk translate`, `pronk bench` and its peers.

usage: serve_load.py [--parts LIST] [--lines N] [--connections N] [--minutes M] [--clients N] [--rounds N] [-d SPEC]
                     [--model MODEL] [--peer-python PYTHON --peer-model DIR --peer-lines N] [--output FILE]
       serve_load.py --table FILE           the table again, from what was measured before
needs: wrk (for `sustain`); for the peers see serve_peer.py

Parts, in this order; each is a row of the table:
  sustain   so many connections for so many minutes, a sentence a request (wrk): errors, and memory after a tenth of the time
            beside memory at the end
  bulk      clients that each wait for a sentence and send the next, beside `pronk translate` of the same lines, in turns
  alone     one client, the median of its waiting, beside the median of `pronk bench --batch 1`
  same      the answers to many clients, in two orders, and to one array, beside those of a client alone: byte by byte
  loop      CTranslate2 given one string after the other, as LibreTranslate does, beside the same clients as in bulk
  libre     LibreTranslate itself with the same weights, beside the same clients as in bulk

The server's cache is off, so that every answer is computed. Clients are coroutines of this process, on connections that stay
open; what they take of the processor is the server's loss. A peer may get fewer lines, the first of them: then the server
gets those too, with the peer's own folder where no --model is given (bench/ct2_folders.py makes build/bench/ct2-i8). Peers search
with a beam of 4: -d beam:size=4,rules=ct2,length_penalty=0.2 is the same search, the default is what users get.
"""
import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SHARED = os.environ.get("PRONK_SHARED", os.path.join(os.path.dirname(ROOT), "shared"))
PARTS = ("sustain", "bulk", "alone", "same", "loop", "libre")
WARM_UP = 20            # lines


# ---- servers ----

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(command, seconds=120):
    """A server that answers on its port: (port, process)"""
    port = free_port()
    process = subprocess.Popen([*command, "--port", str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        for _ in range(seconds * 10):
            with contextlib.suppress(OSError):
                urllib.request.urlopen("http://127.0.0.1:%d/health" % port, timeout=5).close()
                break
            if process.poll() is not None:
                raise SystemExit("the server ended: " + " ".join(command))
            time.sleep(0.1)
        yield port, process
    finally:
        process.terminate()
        process.wait()


def pronk_server(options):
    command = [options.pronk, "serve", "--host", "127.0.0.1", "--translation-cache", "off", "-d", options.decode,
               "--connections", str(options.connections + 100), "--queue", str(4 * options.connections + 1000)]
    if options.model:
        command += ["--model", options.model, "--from", "en", "--to", "de"]
    return running(command)


def memory_of(process):
    with open("/proc/%d/status" % process.pid) as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


# ---- clients ----

def body_of(line):
    return json.dumps({"q": line, "source": "en", "target": "de"}, ensure_ascii=False).encode()


async def ask(reader, writer, body):
    """(status, body of the answer)"""
    writer.write(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                 % len(body) + body)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: *(\d+)", head).group(1))
    return int(head[9:12]), await reader.readexactly(length)


async def client(port, waiting, found):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while waiting:
        index, body = waiting.pop()
        begin = time.perf_counter()
        status, answer = await ask(reader, writer, body)
        found[index] = (status, answer, time.perf_counter() - begin)
    writer.close()


async def all_clients(port, jobs, clients):
    waiting, found = list(reversed(jobs)), {}
    begin = time.perf_counter()
    await asyncio.gather(*(client(port, waiting, found) for _ in range(min(clients, len(jobs)))))
    return time.perf_counter() - begin, found


def send_all(port, lines, clients, order=None):
    """Seconds, answers in the order of lines, waits, and how many were not 200"""
    jobs = [(i, body_of(lines[i])) for i in (order or range(len(lines)))]
    seconds, found = asyncio.run(all_clients(port, jobs, clients))
    ordered = [found[i] for i in range(len(lines))]
    return {"seconds": seconds, "answers": [one[1] for one in ordered], "waits": [one[2] for one in ordered],
            "errors": sum(one[0] != 200 for one in ordered)}


# ---- the parts ----

WRK = """local bodies, at = {}, 0
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local headers = {["Content-Type"] = "application/json"}
function request() at = at %% #bodies + 1; return wrk.format("POST", "/translate", headers, bodies[at]) end
function done(summary, latency)
    local e = summary.errors
    local form = '{"requests": %%d, "connect": %%d, "read": %%d, "write": %%d, "status": %%d, "timeout": %%d, "p50": %%g, "p99": %%g}'
    io.write(string.format(form .. "\\n", summary.requests, e.connect, e.read, e.write, e.status, e.timeout,
        latency:percentile(50) / 1e6, latency:percentile(99) / 1e6))
end
"""


def watch(process, end, samples):
    while not end.wait(1):
        samples.append(memory_of(process))


def sustain(options, lines, folder):
    """Memory is compared after a tenth of the time, when every connection has had its turn, and at the end."""
    bodies, script = os.path.join(folder, "bodies"), os.path.join(folder, "load.lua")
    with open(bodies, "wb") as file:
        file.writelines(body_of(line) + b"\n" for line in random.Random(1).sample(lines, len(lines)))
    with open(script, "w") as file:
        file.write(WRK % bodies)
    seconds = max(10, round(60 * options.minutes))
    with pronk_server(options) as (port, process):
        samples, end = [], threading.Event()
        watcher = threading.Thread(target=watch, args=(process, end, samples))
        watcher.start()
        done = subprocess.run(["wrk", "-t1", "-c%d" % options.connections, "-d%ds" % seconds, "--timeout", "120s", "-s", script,
                               "http://127.0.0.1:%d" % port], stdout=subprocess.PIPE, check=True, text=True)
        end.set()
        watcher.join()
    out = json.loads(done.stdout.strip().splitlines()[-1])
    at = len(samples) // 10
    return dict(out, seconds=seconds, connections=options.connections, memory_begin=samples[at], memory_end=samples[-1],
                memory_most=max(samples[at:]), errors=sum(out[key] for key in ("connect", "read", "write", "status", "timeout")))


def translate_in_bulk(options, lines, folder):
    source, target = os.path.join(folder, "bulk.en"), os.path.join(folder, "bulk.de")
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    command = [options.pronk, "translate", "-q", "-i", source, "-o", target, "-d", options.decode]
    begin = time.perf_counter()
    subprocess.run(command + (["-m", options.model] if options.model else []), check=True)
    seconds = time.perf_counter() - begin
    with open(target, encoding="utf-8") as file:
        return seconds, file.read().split("\n")[:-1]


def bulk(options, lines, folder):
    """Turns: `pronk translate`, then the clients; seconds are summed"""
    ours, theirs, waits, errors = 0, 0, [], 0
    with pronk_server(options) as (port, _):
        send_all(port, lines[:WARM_UP], options.clients)
        for _ in range(options.rounds):
            seconds, bulk_lines = translate_in_bulk(options, lines, folder)
            theirs += seconds
            found = send_all(port, lines, options.clients)
            ours, errors, waits = ours + found["seconds"], errors + found["errors"], waits + found["waits"]
    same = sum(json.loads(a).get("translatedText") == b for a, b in zip(found["answers"], bulk_lines))
    return {"clients": options.clients, "lines": len(lines), "rounds": options.rounds, "serve_seconds": ours,
            "translate_seconds": theirs, "ratio": theirs / ours, "errors": errors, "p50": statistics.median(waits),
            "lines_as_translate": same}


def alone(options, lines, folder):
    few = lines[:options.alone_lines]
    path = os.path.join(folder, "alone.en")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in few)
    command = [options.pronk, "bench", "-i", path, "--batch", "1", "--warm-up", str(WARM_UP), "--json", "-d", options.decode]
    done = subprocess.run(command + (["-m", options.model] if options.model else []), stdout=subprocess.PIPE, check=True)
    bench = json.loads(done.stdout.decode().splitlines()[0])["latency_seconds"]["p50"]
    with pronk_server(options) as (port, _):
        send_all(port, few[:WARM_UP], 1)
        found = send_all(port, few, 1)
    return {"lines": len(few), "serve_p50": statistics.median(found["waits"]), "bench_p50": bench, "errors": found["errors"],
            "more": statistics.median(found["waits"]) - bench}


def same(options, lines, _):
    """A client alone; then all clients, in two orders; then all lines as one array"""
    few = lines[:options.alone_lines]
    with pronk_server(options) as (port, _):
        quiet = send_all(port, few, 1)["answers"]
        different = 0
        for seed in (1, 2):
            order = random.Random(seed).sample(range(len(few)), len(few))
            busy = send_all(port, few, options.clients, order)["answers"]
            different += sum(a != b for a, b in zip(quiet, busy))
        array = json.loads(send_all(port, [few], 1)["answers"][0])["translatedText"]
    different += sum(json.loads(a)["translatedText"] != b for a, b in zip(quiet, array))
    return {"lines": len(few), "answers": 3 * len(few), "different": different}


def beside_peer(options, lines, seconds):
    """The same lines by our server with the same weights, and how many times as fast that was"""
    same_weights = argparse.Namespace(**dict(vars(options), model=options.model or options.peer_model))
    with pronk_server(same_weights) as (port, _):
        send_all(port, lines[:WARM_UP], options.clients)
        found = send_all(port, lines, options.clients)
    return {"lines": len(lines), "peer_seconds": seconds, "serve_seconds": found["seconds"], "errors": found["errors"],
            "ratio": seconds / found["seconds"]}


def peer_command(options, *arguments):
    return [options.peer_python, os.path.join(HERE, "serve_peer.py"), *arguments, "--model", options.peer_model, "--pieces",
            options.peer_pieces]


def loop(options, lines, folder):
    few = lines[:options.peer_lines]
    path = os.path.join(folder, "peer.en")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in few)
    done = subprocess.run(peer_command(options, "loop", "--input", path), stdout=subprocess.PIPE, check=True)
    return beside_peer(options, few, json.loads(done.stdout)["seconds"])


def libre(options, lines, folder):
    few = lines[:options.peer_lines]
    with running(peer_command(options, "libretranslate")) as (port, _):
        send_all(port, few[:2], 1)
        found = send_all(port, few, options.clients)
    if found["errors"]:
        raise SystemExit("LibreTranslate answered with errors: %s" % found["answers"][0])
    return beside_peer(options, few, found["seconds"])


# ---- what was measured ----

def row(part, one):
    if part == "sustain":
        return "%d connections, %.1f min | %d answers, %d errors, memory %.1f -> %.1f MiB (%+.1f %%), p50 %.2f s" % (
            one["connections"], one["seconds"] / 60, one["requests"], one["errors"], one["memory_begin"] / 2 ** 20,
            one["memory_end"] / 2 ** 20, 100 * (one["memory_end"] / one["memory_begin"] - 1), one["p50"])
    if part == "bulk":
        return "%d clients, %d lines x %d, beside `pronk translate` | %.1f / %.1f sentences/s: %.2fx; p50 %.2f s, %d errors, " \
            "%d lines as `pronk translate`" % (
                one["clients"], one["lines"], one["rounds"], one["lines"] * one["rounds"] / one["serve_seconds"],
                one["lines"] * one["rounds"] / one["translate_seconds"], one["ratio"], one["p50"], one["errors"],
                one["lines_as_translate"])
    if part == "alone":
        return "one client, %d lines, beside `pronk bench --batch 1` | p50 %.1f ms / %.1f ms: %+.1f ms" % (
            one["lines"], 1000 * one["serve_p50"], 1000 * one["bench_p50"], 1000 * one["more"])
    if part == "same":
        return "the same text alone and under load | %d of %d answers differ" % (one["different"], one["answers"])
    peer = "CTranslate2, string by string" if part == "loop" else "LibreTranslate"
    return "beside %s, %d lines | %.1f / %.1f sentences/s: %.1fx" % (
        peer, one["lines"], one["lines"] / one["serve_seconds"], one["lines"] / one["peer_seconds"], one["ratio"])


def print_table(records):
    print("| part | decoding | load | found |\n| --- | --- | --- | --- |")
    for one in records:
        print("| %s | %s | %s |" % (one["part"], one["decode"], row(one["part"], one)))


def read_options():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--model", default="")
    parser.add_argument("--input", default=os.path.join(SHARED, "testsets", "en-de", "newstest2014.en"))
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "bench", "serve_load.jsonl"))
    parser.add_argument("--table")
    parser.add_argument("--parts", default="sustain,bulk,alone,same")
    parser.add_argument("-d", "--decode", default="greedy")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--alone-lines", type=int, default=200)
    parser.add_argument("--peer-lines", type=int, default=200)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--peer-model", default=os.path.join(ROOT, "build", "bench", "ct2-i8"))
    parser.add_argument("--peer-pieces", default=os.path.join(SHARED, "models", "en-de-base-hf", "source.spm"))
    options = parser.parse_args()
    unknown = set(options.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error("no such part: %s" % ", ".join(sorted(unknown)))
    return options


def main():
    options = read_options()
    if options.table:
        with open(options.table) as file:
            return print_table([json.loads(line) for line in file])
    with open(options.input, encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1][:options.lines]
    os.makedirs(os.path.dirname(options.output), exist_ok=True)
    records = []
    for part in [part for part in PARTS if part in options.parts.split(",")]:
        with tempfile.TemporaryDirectory() as folder:
            found = globals()[part](options, lines, folder)
        records.append(dict(found, part=part, decode=options.decode, model=options.model or "bundled", cores=os.cpu_count()))
        with open(options.output, "a") as file:
            file.write(json.dumps(records[-1]) + "\n")
    print_table(records)


if __name__ == "__main__":
    main()
