import { isInside, realPathOrMissing } from "@devtool/internal/real-path";

/**
 * Asserts that an agent may work in at least one of the workspace roots. Any of
 * the directories may still be missing.
 *
 * No session may work in a directory that holds the data directory or lies in
 * it, so a server with only such roots would refuse every message that names no
 * other directory.
 *
 * @param roots the default workspace, and further roots
 */
export function assertUsableRoots(
  roots: readonly string[],
  data: string,
): void {
  const realData = realPathOrMissing(data);
  const problems = roots.map((root) => {
    const workspace = realPathOrMissing(root);
    if (isInside(workspace, realData)) return "contains the server's own data";
    return isInside(realData, workspace)
      ? "lies in the server's own data"
      : undefined;
  });
  const [problem] = problems;
  if (problem === undefined || problems.includes(undefined)) return;
  throw new Error(
    `workspace "${roots[0]}" ${problem} "${data}": choose a project's directory with --workspace, or name one with --root`,
  );
}
