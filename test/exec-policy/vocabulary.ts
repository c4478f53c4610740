/** The vocabulary of generated command lines: operators, and words that bash treats specially. */
export const SEPARATORS: readonly string[] = [
  ...["; ", ";", " && ", "&&", " || ", " | ", "|", " |& ", "\n", "\n\n", " ;\n", " &&\n", " |\n  "],
  ...["; ", ";", " && ", "&&", " || ", " | ", "|", " |& ", "\n", "\n\n", " ;\n", " &&\n", " |\n  "],
  " \\\n && ",
];
export const BLANKS: readonly string[] = [...Array.from({ length: 30 }, () => " "), "  ", "  ", "\t", "\t", " \\\n "];
export const HARMLESS: readonly string[] = [
  ...Array.from({ length: 20 }, () => ""),
  ...[" 2>&1", " >/dev/null", " 2>/dev/null", " </dev/null", " &>/dev/null", " >/dev/null 2>&1", ">&2"],
  ...[" 2>&1", " >/dev/null", " 2>/dev/null", " </dev/null", " &>/dev/null", " >/dev/null 2>&1", ">&2"],
  ...["\\\n>/dev/null", " 2\\\n>&1", "{v}>/dev/null", " {PATH}>&2", " {HOME}\\\n>/dev/null"],
];
export const VALUES: readonly string[] = [
  ...["a", "b.txt", "-la", "--x=y", "src/a.ts", "a b", "", "5", "HEAD~1", "a=b", "@{u}", "x:y", "-", "--", "%s"],
  ...[
    "; rm x",
    "&& rm",
    "| rm",
    "$(rm)",
    "`rm`",
    "> f",
    "<x",
    "# no",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "~",
    "!",
    "it's",
    'say "x"',
  ],
  ...["\\", "a\\nb", "a\nb", "rm", "ls", "$v", "&", "(x)", "é", "a#b", "-c", "then"],
];

/** Words that bash expands. */
export const EXPANSIONS: readonly string[] = [
  "{a,b}",
  "a{1..3}",
  "*",
  "?",
  "[ab]*",
  "~",
  "a=~",
  "$v",
  '"$v"',
  "$$",
  "$?",
  `\${#v}`,
  "$'a\\nb'",
  '$"x"',
];

/** Words that are special only in some positions. */
export const ODDITIES: readonly string[] = [
  "V=1",
  "#x",
  "{}",
  "{",
  "}",
  "!",
  "a#b",
  "then",
  "fi",
  "do",
  "in",
  "[",
  "]",
  "é",
  "\\\n",
  "a\\\nb",
  "{v}",
  "{PATH}",
  "{a[0]}",
];

/** The programs that exist where the command lines run. */
export const PROGRAMS: readonly string[] = ["rm", "ls", "git", "npm", "cat", "grep", "make", "x1", "a-b", "c.d", "tee"];

/** Programs that log themselves and then run what they are given. */
export const WRAPPERS: readonly string[] = ["env", "nice", "nohup", "xargs", "sh", "bash", "timeout"];
