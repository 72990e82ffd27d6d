#!/bin/bash
# clients_test.sh - clients of LibreTranslate and of DeepL from PyPI, as they are, against `pronk serve`. They are installed
# into a virtual environment once (CLIENTS, default build/clients); where PyPI cannot be reached, the test is skipped,
# counted. PRONK: the program (default build/pronk).
PRONK=${PRONK:-build/pronk}
CLIENTS=${CLIENTS:-build/clients}
PACKAGES="libretranslatepy==2.1.4 deep-translator==1.11.4 deepl==1.32.0"
unset PRONK_MODEL
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# a stamp says that the environment is whole, and of which versions
if [ "$(cat "$CLIENTS/packages" 2>/dev/null)" != "$PACKAGES" ]; then
    rm -rf "$CLIENTS"
    { python3 -m venv "$CLIENTS" && timeout 90 "$CLIENTS/bin/pip" install -q --no-input --retries 1 --timeout 10 \
        --disable-pip-version-check $PACKAGES && echo "$PACKAGES" >"$CLIENTS/packages"; } >"$log" 2>&1
fi
if [ ! -f "$CLIENTS/packages" ]; then
    tail -n 3 "$log"
    echo "SKIP: the clients could not be installed from PyPI"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
timeout 60 "$CLIENTS/bin/python" tests/serve/clients.py "$PRONK" serve 2>&1 | tee "$log"
tail -n 1 "$log" | grep -q '^[0-9]* passed, 0 failed$' && exit 0
tail -n 1 "$log" | grep -q '^[0-9]* passed, [0-9]* failed$' || echo "0 passed, 1 failed"
exit 1
