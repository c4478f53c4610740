import type { Extension } from "./extension.ts";
import { isWithin, readGuardedPlaces } from "./guarded-places.ts";
import type { Sandbox, SandboxAccess } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { workTreesAround } from "./work-trees.ts";

/** Git as the program of a command, and the options in front of its command. */
const GIT = String.raw`^(?:[^\s/]*/)*git(?:\s+-(?:[cC]\s*\S+|[^cC\s]\S*))*\s+`;
const USES_GIT = new RegExp(`${GIT}(?!(?:init|clone|version|help)\\b)[a-z]`);
/** The commands of git that write to the repository. */
const WRITING: readonly string[] = [
  "add|am|bisect|checkout|cherry-pick|commit|commit-tree|fetch|gc|maintenance|merge|mv|pull|push|rebase|reset|restore|revert",
  "rm|sparse-checkout|switch|update-index|update-ref|write-tree",
  String.raw`branch\s+(?:-[cCdDfmMu]|[^-\s])\S*|tag\s+(?:-[adfFmsu]|[^-\s])\S*`,
  String.raw`stash(?!\s+(?:list|show)\b)|(?:notes|worktree)\s+(?!(?:list|show)\b)[a-z]+`,
  String.raw`submodule\s+(?!(?:status|summary|foreach)\b)[a-z]+|apply\s.*--(?:index|cached)`,
];
const WRITES_GIT = new RegExp(`${GIT}(?:${WRITING.join("|")})(?![\\w-])`);
/**
 * Returns the access that the git commands in a command line will need, which
 * it does not have yet, so that the user can be asked before it fails.
 *
 * A command that writes needs the repository. In a subdirectory of a
 * repository, or where it lies elsewhere, each command needs to read that, and
 * its whole work tree: git takes files that it cannot see for deleted ones. What
 * the sandbox would not grant is left out.
 */
export async function foreseeAccess(
  command: string,
  access: SandboxAccess,
  sandbox: Sandbox,
): Promise<Extension[]> {
  const { workspace, readable, writable } = access;
  const commands = command.split(/[;&|(\n]/).map((text) => text.trim());
  if (!sandbox.confines || !commands.some((text) => USES_GIT.test(text))) {
    return [];
  }
  try {
    const [tree] = workTreesAround(workspace);
    if (!tree) return [];
    const [root = workspace] = tree.roots;
    const git = [...new Set([tree.commonDirectory, tree.gitDirectory])];
    const seen = [workspace, ...readable, ...writable];
    const needsWriting =
      access.workspaceAccess !== "read" &&
      commands.some((text) => WRITES_GIT.test(text));
    const writes = git.filter(
      (path) => needsWriting && !isWithin(path, writable),
    );
    const reads = [root, ...git].filter(
      (path, index) =>
        !isWithin(path, index === 0 ? seen : [...seen, ...writes, root]),
    );
    const guarded = await readGuardedPlaces(workspace, "write");
    // In a repository around the workspace, what no grant makes writable may
    // still be read.
    const forReading = { ...guarded, gitDirectories: [] };
    return [
      ...reads
        .filter((path) => sandbox.canGrant(path, forReading))
        .map((path): Extension => ({ case: "read", path })),
      ...writes
        .filter((path) => sandbox.canGrant(path, guarded))
        .map((path): Extension => ({ case: "write", path })),
    ];
  } catch (reason) {
    // The workspace cannot be confined: the command fails with the reason.
    if (reason instanceof SandboxError) return [];
    throw reason;
  }
}
