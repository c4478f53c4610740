/**
 * Prints the parts of CI whose inputs have not changed since an earlier commit,
 * so that they need not be played again: `main` on a branch, the commit before
 * on `main` itself, or the commit that `DEVTOOL_CI_BASE` names, for a push of
 * several. Says on standard error what it compared. With `DEVTOOL_CI_ALL`, or
 * with nothing to compare with, prints none.
 */
import { baseCommit, git } from "./earlier-commit.ts";
import { unchangedParts } from "./inputs.ts";

const base =
  process.env.DEVTOOL_CI_ALL === undefined ? baseCommit() : undefined;
const changed =
  base === undefined ? undefined : git("diff", "--name-only", base);
const added = git("ls-files", "--others", "--exclude-standard");
if (base === undefined || changed === undefined || added === undefined) {
  process.stderr.write(
    "all parts are played: there is no earlier commit to compare with\n",
  );
} else {
  const parts = unchangedParts(`${changed}\n${added}`.split("\n"));
  for (const part of parts) {
    process.stderr.write(
      `SKIPPED ${part}: none of their inputs (scripts/inputs.ts) changed since ${base.slice(0, 12)}\n`,
    );
    process.stdout.write(`${part}\n`);
  }
}
