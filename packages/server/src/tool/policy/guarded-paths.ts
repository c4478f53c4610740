import { posix } from "node:path";

/** Directories whose files say what tools, editors, hooks and pipelines run. */
const DIRECTORIES: ReadonlySet<string> = new Set(
  (
    ".git .devtool .gemini .claude .codex .cursor .vscode .idea .devcontainer .husky .github .gitlab .circleci .buildkite " +
    ".woodpecker .ssh"
  ).split(" "),
);

/** Files of the same kind. */
const FILES: ReadonlySet<string> = new Set(
  (
    ".mcp.json .gitmodules .gitattributes .gitconfig .pre-commit-config.yaml .envrc .npmrc .yarnrc .yarnrc.yml " +
    ".gitlab-ci.yml .travis.yml .drone.yml appveyor.yml azure-pipelines.yml bitbucket-pipelines.yml cloudbuild.yaml " +
    "jenkinsfile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin " +
    ".kshrc .cshrc .tcshrc .login .inputrc gemini.md agents.md claude.md"
  ).split(" "),
);

/**
 * Tells whether a path of the workspace is one whose change makes programs or agents act later: writing it always asks,
 * unless a rule or an approval names the path. Letter case and invisible characters do not hide one.
 */
export function isGuardedPath(path: string): boolean {
  const segments = path
    .replaceAll(/\p{Cf}/gu, "")
    .toLowerCase()
    .split("/");
  return segments.some((segment) => DIRECTORIES.has(segment)) || FILES.has(posix.basename(segments.join("/")));
}
