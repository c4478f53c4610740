#!/usr/bin/env node
// Old versions of Node must be able to run this file far enough to be refused:
// it and what it imports statically use syntax of 2020 only.
import { nodeProblem } from "@devtool/internal/node-version";

const problem = nodeProblem(process.versions.node);
if (problem === "") {
  void import("./start.ts");
} else {
  process.stderr.write(`devtool-conformance: ${problem}\n`);
  process.exitCode = 2;
}
