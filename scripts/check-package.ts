/**
 * Checks packages as they would be published:
 * `node scripts/check-package.ts TARBALL…`. One process, because each would
 * load TypeScript anew.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import {
  checkPackage,
  createPackageFromTarballData,
} from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** The ways of resolving a module that packages of ESM alone do not support. */
const NOT_ESM: readonly string[] = ["node10", "node16-cjs"];

/** Returns what publint says against a package, one sentence a line. */
async function manifestProblems(
  tarball: ArrayBuffer,
): Promise<readonly string[]> {
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
  return messages
    .filter(({ type }) => type === "error")
    .map((message) => formatMessage(message, pkg) ?? message.code);
}

/**
 * Returns the entries and files of a package whose types TypeScript does not
 * find, or finds wrong, from an ES module.
 */
async function typeProblems(tarball: ArrayBuffer): Promise<readonly string[]> {
  const result = await checkPackage(
    createPackageFromTarballData(new Uint8Array(tarball)),
  );
  if (!result.types) return ["it has no types"];
  return result.problems
    .filter(
      (problem) =>
        !("resolutionKind" in problem) ||
        !NOT_ESM.includes(problem.resolutionKind),
    )
    .map((problem) => JSON.stringify(problem));
}

for (const path of process.argv.slice(2)) {
  const { buffer, byteOffset, byteLength } = readFileSync(path);
  const tarball = buffer.slice(byteOffset, byteOffset + byteLength);
  const name = basename(path, ".tgz");
  // The command has no entry to import.
  const types = name.startsWith("devtool-cli-")
    ? []
    : await typeProblems(tarball);
  const problems = [...(await manifestProblems(tarball)), ...types];
  process.stdout.write(
    problems.map((problem) => `${name}: ${problem}\n`).join(""),
  );
  if (problems.length > 0) process.exitCode = 1;
}
