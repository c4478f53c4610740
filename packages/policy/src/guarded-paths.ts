/**
 * The directories whose files configure what tools, editors, hooks and
 * pipelines run.
 */
const DIRECTORIES: ReadonlySet<string> = new Set(
  (
    ".git .hg .svn .devtool .gemini .claude .codex .cursor .windsurf .continue .roo .kiro .vscode .idea .zed .fleet .nova " +
    ".devcontainer .husky .github .gitlab .forgejo .gitea .circleci .buildkite .woodpecker .teamcity .semaphore .ssh .gnupg " +
    ".direnv .opencode .amazonq .junie .trae .qwen .factory .kilocode .augment .devin .agents .agent .clinerules .helix " +
    ".vs .theia .mise .run .tekton .builds .mvn .jj .sl .vibe .goose .cline .iflow .crush .copilot .openhands .kimi"
  ).split(" "),
);

/** The files that do so in any directory, in lower case. */
const FILES: ReadonlySet<string> = new Set(
  (
    ".mcp.json .gitmodules .gitattributes .gitconfig .envrc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs " +
    // To git a directory that holds `HEAD` and `config` is a repository, and
    // its configuration names programs.
    "head config config.worktree .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml " +
    "lefthook-local.yml .devcontainer.json .mise.toml mise.toml .mise.local.toml mise.local.toml .tool-versions .bazelrc .nvim.lua .nvimrc .exrc .vimrc " +
    ".lvimrc .dir-locals.el .gitlab-ci.yml .gitlab-ci.yaml .travis.yml .travis.yaml .drone.yml .drone.yaml " +
    ".drone.jsonnet .drone.star appveyor.yml .appveyor.yml appveyor.yaml .appveyor.yaml azure-pipelines.yml " +
    "azure-pipelines.yaml bitbucket-pipelines.yml bitbucket-pipelines.yaml cloudbuild.yaml cloudbuild.yml .woodpecker.yml " +
    ".woodpecker.yaml .cirrus.yml .cirrus.star jenkinsfile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases " +
    ".profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc gemini.md agents.md " +
    "agent.md claude.md claude.local.md .cursorrules .windsurfrules .clinerules .goosehints .aider.conf.yml .rules " +
    "qwen.md crush.md warp.md codex.md opencode.json opencode.jsonc crush.json .crush.json lefthook.toml lefthook.json " +
    ".lefthook.toml .lefthook.json lefthook-local.yaml buildspec.yml buildspec.yaml wercker.yml bunfig.toml .pnp.cjs " +
    // Interpreters, debuggers and tool chains execute these when they start in
    // the directory.
    ".pnp.loader.mjs rust-toolchain rust-toolchain.toml .gdbinit .lldbinit .rprofile .irbrc .pryrc .pdbrc .ghci .ocamlinit " +
    ".iex.exs .project .overcommit.yml mcp.json flake.nix devenv.nix devenv.yaml sitecustomize.py usercustomize.py .psqlrc " +
    ".sqliterc .screenrc .tmux.conf .my.cnf .renviron .projectile gradle.properties init.gradle .netrc .curlrc .wgetrc .hgrc " +
    ".byebugrc .sbclrc .emacs .nanorc .xinitrc .xprofile .condarc .bazeliskrc"
  ).split(" "),
);

/** The files that do so in one directory only. */
const FILES_IN_DIRECTORY: ReadonlySet<string> = new Set([
  ".cargo/config",
  ".cargo/config.toml",
  ".config/mise.toml",
  ".config/lefthook.yml",
  "wrapper/gradle-wrapper.properties",
  "tools/bazel",
]);

/**
 * Returns whether a path, relative to the workspace, is guarded: a change of it
 * makes programs or agents act later.
 *
 * Writing a guarded file asks in every mode, unless a rule or an approval names
 * its path. What file systems and tools may ignore in a name is ignored.
 */
export function isGuardedPath(path: string): boolean {
  return isGuardedOn(process.platform, path);
}

/**
 * Returns whether a path is guarded on a platform.
 *
 * On Windows, so is each name with a colon, which may be of a drive or of a
 * stream of a file, or like a short name (`GIT~1`): what file that is can only
 * be told by opening it.
 */
export function isGuardedOn(platform: NodeJS.Platform, path: string): boolean {
  const segments = foldedSegments(platform, path);
  const [parent = "", name = ""] = ["", ...segments].slice(-2);
  if (
    segments.some((segment) => DIRECTORIES.has(segment)) ||
    FILES.has(name) ||
    (platform === "win32" && /:|~\d/.test(path))
  ) {
    return true;
  }
  return (
    /\.(code-workspace|sublime-project)$/.test(name) ||
    FILES_IN_DIRECTORY.has(`${parent}/${name}`) ||
    /(^|\/)(\.yarn\/(releases|plugins)|\.config\/mise)\//.test(
      segments.join("/"),
    )
  );
}

/**
 * Returns a path with the names that {@link isGuardedPath} compares: without
 * what file systems of this platform may ignore.
 */
export function foldedPath(path: string): string {
  return foldedSegments(process.platform, path).join("/");
}

/**
 * Returns the names in a path, each as one of all the names by which a file
 * system may find the same file.
 *
 * Characters that are not visible are removed, and the case is folded as Unicode
 * has it (U+017F is an s), since file systems of Linux and macOS do both.
 * Windows ignores dots and spaces at the end of a name (Naming Files, Paths, and
 * Namespaces).
 */
function foldedSegments(platform: NodeJS.Platform, path: string): string[] {
  const folded = path
    .replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "")
    .toUpperCase()
    .toLowerCase();
  return platform === "win32"
    ? folded.split(/[\\/]/).map((name) => name.replace(/[. ]+$/, ""))
    : folded.split("/");
}
