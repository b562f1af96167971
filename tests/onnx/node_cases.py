"""The node tests of the onnx package that is installed, as folders with what each must give:
node_cases.py write FOLDER writes them, PART to a folder; node_cases.py judge KNOWN < WHAT `mica run --check` SAYS OF
ALL FOLDERS counts them.

A case is right, refused (with a sentence, before anything is computed) or wrong. BY_DESIGN lists refusals by
design; KNOWN lists cases that may be wrong, with a reason each: it must list no others."""
import os
import re
import sys
import warnings

PART = 100  # cases

BY_DESIGN = (
    ("an operator that Mica lacks", r"needs operators that are not supported"),
    ("an element type that Mica lacks", r"elements of type|a cast to"),
    ("a sequence or an optional value as an input or output", r"is no tensor|sequence"),
    ("random numbers", r"at random"),
)


def write(folder):
    warnings.simplefilter("ignore")
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases

    def save(path, value, kind):
        if kind.HasField("sequence_type"):
            proto = numpy_helper.from_list(value, "")
        elif kind.HasField("optional_type"):
            proto = numpy_helper.from_optional(value, "")
        else:
            proto = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, "")
        with open(path, "wb") as file:
            file.write(proto.SerializeToString())

    for number, case in enumerate(collect_testcases(None)):
        graph = case.model.graph
        part = os.path.join(folder, f"part-{number // PART:02d}", "node", case.name)
        for i, (ins, outs) in enumerate(case.data_sets):
            own = os.path.join(part, f"test_data_set_{i}")
            os.makedirs(own)
            for name, values, ports in (("input", ins, graph.input), ("output", outs, graph.output)):
                for k, value in enumerate(values):
                    save(os.path.join(own, f"{name}_{k}.pb"), value, ports[k].type)
        onnx.save(case.model, os.path.join(part, "model.onnx"))
    print("onnx", onnx.__version__)


def judge(known_path):
    known = {}
    with open(known_path) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, reason = line.split(None, 1)
                known[name] = reason.strip()
    total = [0, 0]
    wrong, refused, designed = [], [], {reason: [] for reason, _ in BY_DESIGN}
    for line in sys.stdin:
        match = re.match(r"wrong  .*? (test_\w+): (.*)$", line)
        if not match:
            count = re.match(r" *(\d+) of +(\d+)  in all", line)
            total = [total[0] + int(count[1]), total[1] + int(count[2])] if count else total
            continue
        name, said = match.groups()
        if re.search(r"and should (be|have)", said):
            wrong.append((name, said))
            continue
        reason = next((reason for reason, pattern in BY_DESIGN if re.search(pattern, said)), None)
        (designed[reason] if reason else refused).append((name, said))
    if not total[1]:
        sys.exit("mica run --check counted nothing")
    for reason, cases in designed.items():
        print(f"{len(cases):5d} refused by design: {reason}")
    for name, said in refused:
        print("refused", name, said)
    for name, said in wrong:
        print("known  " if name in known else "WRONG  ", name, said, known.get(name, ""))
    possible = total[1] - sum(map(len, designed.values()))
    share = total[0] / possible
    fresh = [name for name, _ in wrong if name not in known]
    print(f"{total[0]} of {possible} right ({100 * share:.1f} %), {len(refused)} refused, {len(wrong)} wrong, "
          f"{len(wrong) - len(fresh)} of them known; {total[1]} cases in all")
    if fresh:
        sys.exit(f"{len(fresh)} cases are wrong that {known_path} does not list")
    if share < 0.97:
        sys.exit("fewer than 97 % are right")


if __name__ == "__main__":
    {"write": write, "judge": judge}[sys.argv[1]](sys.argv[2])
