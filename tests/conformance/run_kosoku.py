"""Runs kosoku, with messages as its cases expect them.

kosoku 0.1.0 gives the cases of compression a message as `str` if it came uncompressed, as bytes in Latin-1. They hash
it, which needs bytes. A server may send a message uncompressed where compression would not make it shorter (RFC 7692
section 6).
"""

import sys

from kosoku import _caseindex, _cli

_caseindex.initialize_shims()

import case12_x_x as cases  # noqa: E402

for case in cases.Case12_X_X + cases.Case13_X_X:

    def on_message(self, message, binary, checked=case.onMessage):
        if isinstance(message, str):
            message = message.encode("latin-1")
        checked(self, message, binary)

    case.onMessage = on_message

sys.exit(_cli.main())
