/** One setting of a configuration. */
export interface GitSetting {
  /**
   * Its section and name in lower case, with the subsection as it is written:
   * `core.worktree`, `includeif.gitdir:~/a/.path`.
   */
  readonly key: string;
  /** Undefined for a setting without `=`. */
  readonly value: string | undefined;
}

/** What a configuration file says. */
export interface GitConfigFile {
  /** The settings in order. Several may have the same key. */
  readonly settings: readonly GitSetting[];
  /**
   * The number of the line at which git refuses the file; undefined for a valid
   * file.
   */
  readonly brokenLine: number | undefined;
}

/** `[section]`, `[section.subsection]` and `[section "subsection"]`. */
const SECTION = /\[([a-z\d.-]*)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]/iy;
const KEY = /([a-z][a-z\d-]*)[ \t]*/iy;
const SPACE = /[ \t\r\n]+/y;
const COMMENT = /[#;].*/y;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["t", "\t"],
  ["b", "\b"],
  ["n", "\n"],
  ["\\", "\\"],
  ['"', '"'],
]);

/**
 * Reads a configuration as git does (git-config(1), "Syntax"), up to the first
 * line that git refuses. Follows no includes.
 *
 * Tabs in a value without quotes are kept, as by newer versions of git; older
 * ones make spaces of them.
 */
export function parseGitConfig(text: string): GitConfigFile {
  const file = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const settings: GitSetting[] = [];
  let prefix = "";
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(file) ?? undefined;
    if (match) at = pattern.lastIndex;
    return match;
  };
  while (at < file.length) {
    const start = at;
    if (take(SPACE) || take(COMMENT)) continue;
    const header = take(SECTION);
    if (header) {
      const [, name = "", subsection] = header;
      const quoted =
        subsection === undefined
          ? ""
          : `.${subsection.replaceAll(/\\(.)/g, "$1")}`;
      prefix = `${name.toLowerCase()}${quoted}.`;
      continue;
    }
    const name = take(KEY)?.[1];
    const value = name === undefined ? undefined : readValue(file, at);
    if (name === undefined || !value) {
      return { settings, brokenLine: file.slice(0, start).split("\n").length };
    }
    settings.push({ key: prefix + name.toLowerCase(), value: value.text });
    at = value.end;
  }
  return { settings, brokenLine: undefined };
}

/**
 * Reads what follows a key, up to the end of its line. Returns undefined for
 * what git refuses.
 */
function readValue(
  file: string,
  start: number,
): { readonly text: string | undefined; readonly end: number } | undefined {
  if (start >= file.length || file[start] === "\n") {
    return { text: undefined, end: start + 1 };
  }
  if (file[start] !== "=") return undefined;
  let text = "";
  // The length without the spaces at the end that are not in quotes.
  let length = 0;
  let isQuoted = false;
  let at = start + 1;
  for (; at < file.length; at++) {
    const character = file[at] ?? "";
    if (character === "\n") break;
    if (!isQuoted && /[ \t\r]/.test(character)) {
      if (text !== "") text += character;
      continue;
    }
    if (!isQuoted && /[#;]/.test(character)) {
      const end = file.indexOf("\n", at);
      at = end < 0 ? file.length : end;
      break;
    }
    if (character === '"') {
      isQuoted = !isQuoted;
    } else if (character !== "\\") {
      text += character;
    } else {
      at++;
      const escaped = file[at] ?? "\n";
      if (escaped === "\n") continue;
      const meant = ESCAPES.get(escaped);
      if (meant === undefined) return undefined;
      text += meant;
    }
    length = text.length;
  }
  return isQuoted ? undefined : { text: text.slice(0, length), end: at + 1 };
}
