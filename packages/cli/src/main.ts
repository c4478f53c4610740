#!/usr/bin/env node
// An old Node must get as far as the refusal: syntax of 2020 in this file and in what it imports, and no static import
// of anything else. A test runs it on Node 20.
import { nodeProblem } from "./node-version.ts";

const problem = nodeProblem(process.versions.node);
if (problem === "") {
  void import("./start.ts");
} else {
  process.stderr.write(`devtool: ${problem}\n`);
  process.exitCode = 1;
}
