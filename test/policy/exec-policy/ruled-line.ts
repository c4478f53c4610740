import { type Dice, oneOf } from "./dice.ts";
import { PlainLine } from "./plain-line.ts";
import { double, escaped, single } from "./quotes.ts";
import { EXPANSIONS, SEPARATORS, VALUES } from "./vocabulary.ts";

/** Programs that run their words where the lines of this file run. */
export const LAUNCHERS: readonly string[] =
  "npx uv docker tmux setarch launch python3 node sqlite3 tar npm git rsync".split(
    " ",
  );

/** Commands that the rules of a test name, as their words. */
const TARGETS: readonly (readonly string[])[] = [
  ["rm", "a"],
  ["x1"],
  ["git", "push"],
  ["git", "push", "--force"],
  ["npm", "publish"],
  ["a-b", "-n"],
];

/** The beginnings of commands that run, or may run, what follows. */
const STARTS: readonly string[] = [
  ...["", "", "", "", "", ""],
  ..."npx|npx -y|npx -c|uv run|docker run x|docker run --rm x|tmux new -d|setarch x|launch|launch -f|launch --exec|tar".split(
    "|",
  ),
  ..."npm exec --|npm exec -c|npm run|npm test --|python3 -c|python3 x|node -e|node|sqlite3 x|rsync -e|env|timeout 5|sh -c".split(
    "|",
  ),
  ..."git rebase -x|git rebase|git submodule foreach|git bisect run|git config alias.x|git fetch|git -C x|git commit -m|git stash".split(
    "|",
  ),
];

/** Options that stand in front of a subcommand. */
const OPTIONS: readonly string[] = ["-C x", "-w x", "--x=y", "-q", "--"];

/** Lines in which a command that rules name is hidden in many ways. */
export class RuledLine {
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** A line of one or two commands. */
  line(): string {
    const first = this.#command();
    return this.#dice(3) > 0
      ? first
      : first + this.#one(SEPARATORS) + this.#command();
  }

  #command(): string {
    const target = this.#one(TARGETS);
    if (this.#dice(6) === 0) return this.#input(target.join(" "));
    const start = this.#one(STARTS);
    const noise = this.#dice(3) === 0 ? ` ${this.#word()}` : "";
    return `${start}${noise} ${this.#hidden(target)}${this.#noise()}`.trim();
  }

  /** A launcher that runs its input, in which the command may be put together. */
  #input(text: string): string {
    const launcher = this.#one([...LAUNCHERS, "launch x", "launch -f 'a b'"]);
    const quoted = this.#one([
      single(text),
      double(text),
      single(`v=${text.slice(0, 1)}; \${v}${text.slice(1)}`),
    ]);
    const reader = this.#one([
      launcher,
      `{ ${launcher}; }`,
      `(x1; ${launcher})`,
      `if ${launcher}; then ls; fi`,
      `ls $(${launcher})`,
      `tee >(${launcher})`,
    ]);
    return this.#one([
      `${reader} <<<${quoted}`,
      `echo ${quoted} | ${reader}`,
      `echo ${quoted} | ${reader} | ls`,
      `cat <<<${quoted} | ${reader}`,
      `${reader} < <(echo ${quoted})`,
      `${reader} <<E\n${text.slice(0, 1)}""${text.slice(1)}\nE\n`,
      `echo y | ls; echo ${quoted} | ${reader}`,
    ]);
  }

  /** The words of a command, written so that they are harder to see. */
  #hidden(target: readonly string[]): string {
    const text = target.join(" ");
    const [name = "", ...words] = target;
    switch (this.#dice(9)) {
      case 0:
        return single(text);
      case 1:
        return `${this.#one(["--exec=", "-x", "--a=b="])}${single(text)}`;
      case 2:
        return [name, this.#one(OPTIONS), ...words].join(" ");
      case 3:
        return single(
          text.replace(/(?<=.)(?=.)/, this.#one(["''", '""', "\\"])),
        );
      case 4:
        return double(
          `${this.#one(["a; ", "x && ", "!", ":!", "1e "])}${text}`,
        );
      case 5:
        return [name, ...words.map((word) => this.#expanding(word))].join(" ");
      case 6:
        return [this.#expanding(name), ...words].join(" ");
      case 7:
        return this.#word();
      default:
        return target.map((word) => this.#quoted(word)).join(" ");
    }
  }

  /** A word that the shell expands to another one, sometimes to several. */
  #expanding(word: string): string {
    const [head, tail] = [word.slice(0, 1), word.slice(1)];
    return this.#one([
      `{${word},}`,
      `${head}{${tail},x}`,
      `${head}*`,
      `?${tail}`,
      `[${head}]${tail}`,
      `\${v:-${word}}`,
      `${head}\${v}${tail}`,
      `$(echo ${word})`,
      `"$(echo ${word})"`,
      `\`echo ${word}\``,
      `$'${word}'`,
      `"\${v:-${head}}"${tail}`,
      "*",
      "$v",
    ]);
  }

  #quoted(word: string): string {
    return this.#one([word, single(word), double(word), escaped(word)]);
  }

  #noise(): string {
    return this.#dice(4) === 0 ? ` ${this.#word()}` : "";
  }

  #word(): string {
    const plain = new PlainLine(this.#dice);
    return this.#one([
      () => plain.word(),
      () => this.#one(EXPANSIONS),
      () => single(this.#one(VALUES)),
    ])();
  }

  #one<T>(choices: readonly T[]): T {
    return oneOf(choices, this.#dice);
  }
}
