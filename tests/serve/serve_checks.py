"""Runs all checks of `pronk serve`: see the five files beside this one."""
from api_checks import check_alternatives, check_deepl, check_detected, check_others, check_translate, check_wrong
from fault_checks import check_faults, check_signals, check_vanish
from limit_checks import check_full_disk, check_keys, check_limits
from model_checks import check_memory, check_models
from operation_checks import check_operations, check_systemd, check_tls, check_unprivileged
from serving import Server, finish, holds


def main():
    with Server() as s:
        holds('only this machine is served', 'http://127.0.0.1:' in s.errors[0], s.errors)
        for part in (check_translate, check_detected, check_alternatives, check_wrong, check_others, check_deepl):
            part(s)
    for part in (check_limits, check_keys, check_full_disk, check_models, check_memory, check_signals, check_vanish,
                 check_faults, check_operations, check_systemd, check_tls, check_unprivileged):
        part()
    finish()


main()
