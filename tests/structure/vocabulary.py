#!/usr/bin/env python3
"""Keeps words out that have given way to the field's; GLOSSARY.md says what the standing ones mean.

OLD has each word, a regular expression over identifiers, and the one that took its place. Comments that
document a file or a declaration are sentences: none begins with "What", "Of" or "Whether". Messages of
devices are sentences, too. Prints one line a use; exit code 1 if there is any.
"""

import os
import re
import sys

from sources import runCheck

CODE = (".h", ".cpp", ".cu", ".td", ".fbs", ".proto", ".mlir", ".py", ".txt", ".md")
EXCEPT = ("GLOSSARY.md", "tests/structure/vocabulary.py", "tests/structure/self_test.py", "tests/fuzz/corpus/")

# (folder in which the word is not used, "" for all; old word; the one in its place)
OLD = [
    ("", r"(passes::)?Wish(es)?|wishesOf|withWishes", "DeviceHint"),
    ("", r"DeviceTurns", "ExclusiveRunner"),
    ("", r"CostBook", "CostProfile"),
    ("", r"CostShelf", "ProfileStore"),
    ("", r"CostLearning", "ProfileRecorder"),
    ("placement/", r"Pieces?|PieceOrders", "CoarseNode, CoarseGraph"),
    ("", r"SessionStage|atStage", "ErrorDomain, inDomain"),
    ("", r"supposeDevice", "addHypotheticalDevice"),
    ("", r"CompilerDoor", "CompilerLoader"),
    ("", r"Recognise\w+|recognise_\w+", "Raise…, raise_…"),
    ("", r"PlanTrials|kMostPlans", "AlgorithmTrials, kMostAlgorithms"),
    ("", r"tied_units|TiedUnits|tiedUnits", "forced_colocation"),
    ("", r"fixed_memory|FixedMemory", "resident_memory"),
    ("", r"machine_(problem|proof|schedule|search)", "identical_machines_…"),
    ("", r"allocateOwn|deallocateOwn", "allocateDevice, deallocateDevice"),
    ("", r"lockHostMemory", "pinHostMemory"),
    ("", r"EdgeWay", "DirectTransfer"),
    ("devices/", r"handOver|canHandOver", "transferDirectly, canTransferDirectly"),
    ("", r"Meetings?|MeetingMember|newMeetings?", "CollectiveGroup; of devices CommunicatorId"),
    ("placement/search/", r"Sendings?", "LinkTransfer"),
    ("placement/", r"CallTimes|CallGoal|oneCall|call_(bound|times)", "OffloadTimes, isOffload, …"),
    ("placement/", r"longest_ways|LongestWays", "longest_paths"),
    ("devices/", r"CommunicatorPlace", "CommunicatorRank"),
    ("devices/", r"Steps?|(invalid|check)Step|(Library|Cudnn|Exact)Step|Step(Writer|Costs|Timer)", "Instruction, …"),
    ("tests/devices/", r"Steps?|step_runner", "Instruction, instruction_runner"),
    ("", r"StepTime|StepClock|stepTimes", "KernelTime, KernelClock, kernelTimes"),
    ("", r"CollectiveSteps", "CollectiveProgram"),
    ("devices/", r"Ways?|ways?_|\w*[a-z0-9]Ways|denseWay|[wW]ay_?[cC]hoice|Alternatives?", "WorkCandidate, selectKernels, …"),
    ("", r"Ways?|Way(?=Files)\w+|parseWays|wayName", "TestMode, LineKind, …: the exact noun"),
    ("placement/", r"MeanWays|ways(FromBegin|ToEnd)", "MeanPaths, pathsFromBegin, pathsToEnd"),
    ("", r"(Row|Block|Element|Slice|Core|Device|Node)Places?|places?Of\w*|kSumPlaces|kNoPlace|isPlace|\w+::Place",
     "offset, index, position, …: the exact noun"),
    ("", r"linear_places|core_places", "linear_offsets, core_indices"),
    ("devices/compiler/", r"Work", "WorkItem"),
    ("devices/", r"WorkPlanner|planWork|plan_work", "collectWorkItems, kernel_selection"),
]

# What documents a file or a declaration, and is no sentence.
FRAGMENT = re.compile(r"\s*(///?) (What|Of|Whether)\b")
SENTENCES_IN = ("ir/", "passes/", "placement/", "runtime/", "devices/", "frontends/")

# A message's first word, where a sentence with a subject cannot begin with it.
MESSAGE = re.compile(r"""\b(?:\w+Error|declined\w*|invalid\w+|notifyMatchFailure)\(\s*(?:\w+,\s*)?(?:absl::StrCat\(\s*)?
                         "(What|Of|Whether|Not|Unknown|Larger|More|Too|No\ such)\b""", re.IGNORECASE | re.VERBOSE)
MESSAGES_IN = ("devices/",)


def fragments(path, text):
    """(line number, first word) of each such comment of `text`; comments inside of functions may be short."""
    if not path.startswith(SENTENCES_IN):
        return
    isComment = False
    for number, line in enumerate(text.split("\n"), 1):
        match = FRAGMENT.match(line)
        if match and not isComment and (number == 1 or match.group(1) == "///"):
            yield number, match.group(2)
        isComment = line.lstrip().startswith("//")


def brokenMessages(path, text):
    """(line number, first word) of each message of `text` that is no sentence."""
    if path.startswith(MESSAGES_IN):
        for match in MESSAGE.finditer(text):
            yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def uses(path, text):
    """(line number, word, what took its place) of each old word in `text`."""
    rows = [(old, new) for folder, old, new in OLD if path.startswith(folder)]
    for number, line in enumerate(text.split("\n"), 1):
        for old, new in rows:
            for match in re.finditer(rf"(?<!\w)(?:{old})(?!\w)", line):
                yield number, match.group(0), new


def problems(root, files):
    found = []
    for path in files:
        if not path.endswith(CODE) or path.startswith(EXCEPT):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        found += [f"{path}:{number}: '{word}' is called {new} (GLOSSARY.md)"
                  for number, word, new in uses(path, text)]
        found += [f"{path}:{number}: a comment that begins with '{word}'; expected a sentence with subject and verb"
                  for number, word in fragments(path, text)]
        found += [f"{path}:{number}: a message that begins with '{word}'; expected a sentence with subject and verb"
                  for number, word in brokenMessages(path, text)]
    return found


if __name__ == "__main__":
    sys.exit(runCheck(__doc__, "vocabulary", problems))
