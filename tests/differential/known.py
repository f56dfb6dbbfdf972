"""What is known to differ and is not a fault of GraphRun's, or is listed until it is mended."""

import re

# (operations that must all be in the model, kind of finding, pattern of the message): reason.
LIST = []


def reason(finding):
    """Why a finding is known; "" if it is not."""
    kinds = {node.op_type for node in finding.case.model.graph.node}
    for operations, kind, pattern, why in LIST:
        if set(operations) <= kinds and kind in ("", finding.kind) and \
                re.search(pattern, finding.message):
            return why
    return ""
