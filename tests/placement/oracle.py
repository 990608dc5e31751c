#!/usr/bin/env python3
"""Judges placements of real models by bounds that scipy's exact solver gives.

PROGRAM writes problems and placements, a line of JSON each. For each, two mixed-integer programs bound what
any placement on these two devices could reach:

  finish  the least time, of paths, of each device's and link's work, with weights and each step's own memory
          within the accelerator's budget
  bytes   the fewest bytes over the link with as much work on the accelerator as the placement has there

Memory is counted as what every order of the steps holds at least, so both are lower bounds of the optimum. Exit status 77: no
scipy, or no model.
"""
import argparse
import json
import statistics
import subprocess
import sys

try:
    import numpy
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array
except ImportError as problem:
    print(f"skipped: {problem} (Debian: python3-scipy)")
    sys.exit(77)

SMALL = 40  # steps


class Program:
    """A mixed-integer program in the making."""

    def __init__(self):
        self.cost, self.low, self.high, self.whole = [], [], [], []
        self.rows, self.at_least = [], []

    def variable(self, cost=0.0, low=0.0, high=numpy.inf, whole=False):
        self.cost.append(cost)
        self.low.append(low)
        self.high.append(high)
        self.whole.append(int(whole))
        return len(self.cost) - 1

    def require(self, terms, at_least):
        """sum of factor * variable >= at_least"""
        self.rows.append(terms)
        self.at_least.append(at_least)

    def least(self, seconds):
        """A lower bound of the least cost: the least itself where there is time to prove it."""
        data, row, column = [], [], []
        for i, terms in enumerate(self.rows):
            for variable, factor in terms:
                row.append(i)
                column.append(variable)
                data.append(factor)
        matrix = csr_array((data, (row, column)), shape=(len(self.rows), len(self.cost)))
        answer = milp(
            self.cost,
            integrality=self.whole,
            bounds=Bounds(self.low, self.high),
            constraints=LinearConstraint(matrix, self.at_least, numpy.inf),
            options={"time_limit": seconds, "mip_rel_gap": 0.002},
        )
        bound = answer.mip_dual_bound
        return (bound if bound is not None else 0.0), answer.status == 0


class Model:
    """What both programs share: places, what crosses, memory. Device 1 is the accelerator."""

    def __init__(self, problem):
        self.p, self.steps, self.values = problem, problem["steps"], problem["values"]
        self.program = Program()
        self.producer = {v: s for s, step in enumerate(self.steps) for v in step["outputs"]}
        self.readers_of = {}
        for s, step in enumerate(self.steps):
            for v in set(step["inputs"]):
                self.readers_of.setdefault(v, []).append(s)
        self.after = [0] * len(self.steps)  # by step: those that wait for it, as bits
        for s in range(len(self.steps) - 1, -1, -1):
            for v in self.steps[s]["outputs"]:
                for reader in self.readers(v):
                    self.after[s] |= self.after[reader] | 1 << reader
        self.there = [
            self.program.variable(
                low=float(s["time"][0] is None), high=float(s["time"][1] is not None), whole=True
            )
            for s in self.steps
        ]
        self.crossing = {}  # value: variables of to the accelerator, and back
        self.cross()
        self.limit_memory()

    def readers(self, value):
        return self.readers_of.get(value, [])

    def cross(self):
        for v, value in enumerate(self.values):
            to, back = self.program.variable(high=1), self.program.variable(high=1)
            self.crossing[v] = (to, back)
            made = self.producer.get(v)
            for reader in self.readers(v):
                if made is None:
                    self.program.require([(to, 1), (self.there[reader], -1)], 0)
                    continue
                self.program.require([(to, 1), (self.there[reader], -1), (self.there[made], 1)], 0)
                self.program.require([(back, 1), (self.there[made], -1), (self.there[reader], 1)], 0)
            if value["result"] and made is not None:
                self.program.require([(back, 1), (self.there[made], -1)], 0)

    def limit_memory(self):
        weights = []
        for c, size in enumerate(self.p.get("constants", [])):
            held = self.program.variable(high=1)
            weights.append((held, -float(size)))
            for s, step in enumerate(self.steps):
                if c in step["constants"]:
                    self.program.require([(held, 1), (self.there[s], -1)], 0)
        alive = self.alive()
        for s, step in enumerate(self.steps):
            own = step["scratch"] + sum(
                self.values[v]["bytes"] for v in set(step["inputs"]) | set(step["outputs"])
            )
            held = [(a, -float(self.values[v]["bytes"])) for v, a in alive[s]]
            self.program.require(weights + held + [(self.there[s], -float(own))], -float(self.p["budget"]))

    def alive(self):
        """By step: values that are on the accelerator while it runs, in whichever order, and the variables
        that say so: made there before it, and read there after it."""
        after = self.after
        alive = [[] for _ in self.steps]
        for v, made in self.producer.items():
            readers = self.readers(v)
            for reader in readers:
                between = [
                    s
                    for s in range(made + 1, reader)
                    if after[made] >> s & 1 and after[s] >> reader & 1 and s not in readers
                ]
                if not between:
                    continue
                both = self.program.variable(high=1)
                self.program.require([(both, 1), (self.there[made], -1), (self.there[reader], -1)], -1)
                for s in between:
                    if all(v != other for other, _ in alive[s]):
                        alive[s].append((v, both))
        return alive

    def narrows(self):
        """Steps that every other one waits for, or they for it, in their order."""
        before = [0] * len(self.steps)
        for s, later in enumerate(self.after):
            for other in range(s + 1, len(self.steps)):
                before[other] |= (later >> other & 1) << s
        everyone = (1 << len(self.steps)) - 1
        return [s for s in range(len(self.steps)) if self.after[s] | before[s] | 1 << s == everyone]

    def transfer_ns(self, value, link):
        return link["latency_ns"] + self.values[value]["bytes"] / link["bytes_per_ns"]


def time_of(step):
    """Time on the CPU, and how much more on the accelerator; where there is no kernel, any number does."""
    here, there = step["time"]
    here = there if here is None else here
    return here, (here if there is None else there) - here


def least_finish(problem, seconds):
    m = Model(problem)
    p = m.program
    to_link, back_link = sorted(problem["links"], key=lambda link: link["from"])
    scale = sum(time_of(s)[0] for s in m.steps)  # so that numbers are of about one size
    finish = p.variable(cost=1)
    ends = [p.variable() for _ in m.steps]
    for s, step in enumerate(m.steps):
        here, more = (t / scale for t in time_of(step))
        p.require([(ends[s], 1), (m.there[s], -more)], here)
        for v in step["inputs"]:
            made = m.producer.get(v)
            to, back = (m.transfer_ns(v, link) / scale for link in (to_link, back_link))
            if made is None:
                p.require([(ends[s], 1), (m.there[s], -more - to)], here)
                continue
            begin = [(ends[s], 1), (ends[made], -1)]
            p.require(begin + [(m.there[s], -more)], here)
            p.require(begin + [(m.there[s], -more - to), (m.there[made], to)], here)
            p.require(begin + [(m.there[s], -more + back), (m.there[made], -back)], here)
        late = max((m.transfer_ns(v, back_link) for v in step["outputs"] if m.values[v]["result"]), default=0)
        p.require([(finish, 1), (ends[s], -1), (m.there[s], -late / scale)], 0)
    narrows = m.narrows()
    for first, last in zip(narrows, narrows[1:]):
        # All between the two happens between them: on each device one after another, or in its lanes.
        between = [s for s in range(first + 1, last) if m.after[first] >> s & 1 and m.after[s] >> last & 1]
        here, more = (t / scale for t in time_of(m.steps[last]))
        for device, lanes in enumerate(problem["lanes"]):
            terms = [(ends[last], 1), (ends[first], -1), (m.there[last], -more)]
            fixed = here
            for s in between:
                own = time_of(m.steps[s])
                if device == 0:
                    fixed += own[0] / scale / lanes
                    terms.append((m.there[s], own[0] / scale / lanes))
                else:
                    terms.append((m.there[s], -(own[0] + own[1]) / scale / lanes))
            p.require(terms, fixed)
    times = [time_of(s) for s in m.steps]
    work = [(finish, problem["lanes"][0])]
    p.require(work + [(m.there[s], t[0] / scale) for s, t in enumerate(times)], sum(t[0] for t in times) / scale)
    work = [(finish, problem["lanes"][1])]
    p.require(work + [(m.there[s], -(t[0] + t[1]) / scale) for s, t in enumerate(times)], 0)
    for way, link in enumerate((to_link, back_link)):
        p.require([(finish, 1)] + [(m.crossing[v][way], -m.transfer_ns(v, link) / scale) for v in m.crossing], 0)
    bound, proven = p.least(seconds)
    return bound * scale, proven


def fewest_bytes(problem, places, seconds):
    m = Model(problem)
    scale = sum(v["bytes"] for v in m.values) or 1
    for v, both in m.crossing.items():
        for variable in both:
            m.program.cost[variable] = m.values[v]["bytes"] / scale
    work = [sum(time_of(s)) for s in m.steps]
    share = sum(w for w, d in zip(work, places) if d == 1) / sum(work)
    m.program.require([(m.there[s], w / sum(work)) for s, w in enumerate(work)], share * (1 - 1e-9))
    bound, proven = m.program.least(seconds)
    return bound * scale, proven, share


def judge(case, seconds):
    problem, steps = case["problem"], len(case["problem"]["steps"])
    finish, finish_proven = least_finish(problem, seconds)
    fewest, bytes_proven, share = fewest_bytes(problem, case["places"], seconds)
    late = case["finish_ns"] / finish if finish > 0 else 1.0
    many = case["link_bytes"] / fewest if fewest > 1 else (1.0 if case["link_bytes"] == 0 else numpy.inf)
    print(
        f"{case['model']} 1/{case['part']}, {steps} steps: finish {case['finish_ns'] / 1e6:.3f} ms, "
        f"{late:.3f} of the bound{'' if finish_proven else ' (not proven least)'}; "
        f"{case['link_bytes'] / 1e6:.3f} MB, {many:.3f} of the fewest with {share:.0%} of the work there"
        f"{'' if bytes_proven else ' (not proven fewest)'}",
        flush=True,
    )
    return steps, late, many


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="*", help="parts of names; all models without any")
    parser.add_argument("--seconds", type=float, default=20, help="for each of the two programs")
    parser.add_argument("--latest", type=float, help="fail if a finish is more than so many times its bound")
    parser.add_argument("--most", type=float,
                        help=f"fail if the bytes are more than so many times their bound: of each graph of up to {SMALL} "
                             "steps, and of larger ones in the median")
    parser.add_argument("--most-large", type=float, help="the same of each larger graph")
    return parser.parse_args()


def main():
    args = arguments()
    judged = []
    for model in args.models or [""]:
        lines = subprocess.Popen([args.program, model], stdout=subprocess.PIPE, text=True)
        judged += [judge(json.loads(line), args.seconds) for line in lines.stdout]
        if lines.wait() != 0:
            sys.exit(f"{args.program} failed")
    if not judged:
        print("skipped: no model is there (../shared/models, or $SLUICE_MODELS)")
        sys.exit(77)
    latest = max(j[1] for j in judged)
    small = [j[2] for j in judged if j[0] <= SMALL]
    large = [j[2] for j in judged if j[0] > SMALL]
    middle, worst = statistics.median(large or [1]), max(large, default=1)
    print(f"finish: median {statistics.median(j[1] for j in judged):.3f} of its bound, latest {latest:.3f}")
    print(f"bytes, graphs of up to {SMALL} steps: worst {max(small, default=1):.3f}")
    print(f"bytes, larger: median {middle:.3f}, worst {worst:.3f}")
    limits = [(latest, args.latest), (max(small, default=1), args.most), (middle, args.most), (worst, args.most_large)]
    if any(limit and found > limit for found, limit in limits):
        sys.exit("that is more than is allowed")


if __name__ == "__main__":
    main()
