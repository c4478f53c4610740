import { type Dice, oneOf } from "./dice.ts";
import { type LineParts, PlainLine } from "./plain-line.ts";
import { single } from "./quotes.ts";
import { EXPANSIONS, ODDITIES } from "./vocabulary.ts";

/**
 * Commands with expansions, redirections, groups, control flow, functions,
 * wrappers and mistakes.
 */
export class WildLine implements LineParts {
  readonly #dice: Dice;
  readonly #plain: PlainLine;
  #depth = 0;
  // Each function has a name of its own: none calls itself.
  #functions = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
    this.#plain = new PlainLine(dice);
  }

  /**
   * A line of one to three commands, and perhaps a mistake or a here-document.
   */
  line(): string {
    const line = this.#plain.line(this);
    // A tenth is broken: something is missing, or too much.
    if (this.#dice(10) > 0) return `${line}${this.#heredoc()}`;
    const at = this.#dice(line.length + 1);
    return (
      line.slice(0, at) +
      this.#one([
        '"',
        "'",
        "(",
        ")",
        "`",
        "&",
        "|",
        ";",
        "{",
        "}",
        "<",
        "\\",
        "\n",
      ]) +
      line.slice(at)
    );
  }

  /** A command, or several in one of the forms that bash has for that. */
  command(): string {
    if (this.#depth > 2) return this.#plain.command(this);
    this.#depth++;
    try {
      return this.#dice(4) === 0 ? this.#compound() : this.#simple();
    } finally {
      this.#depth--;
    }
  }

  #simple(): string {
    const assignment = this.#one([
      "",
      "",
      "",
      "",
      "",
      "V=1 ",
      "V=$(ls) ",
      "A=b C='d e' ",
      "V=`rm` ",
    ]);
    const redirect = () =>
      this.#one([
        "",
        "",
        "",
        "",
        ` >f${this.#dice(3)}`,
        " 2>&1",
        " 2>g",
        " <f0",
        " &>h",
        " >>f1 ",
        ` <<<${this.word()}`,
      ]);
    const wrapper = this.#one([
      "",
      "",
      "",
      "",
      "",
      "",
      "env ",
      "env V=1 ",
      "nice ",
      "nohup ",
      "xargs ",
      "time ",
      "command ",
      "builtin ",
      "exec ",
      "timeout 5 ",
    ]);
    return `${redirect()} ${assignment}${wrapper}${this.#plain.command(this)}${redirect()}`;
  }

  #compound(): string {
    const list = () => this.#plain.joined(1, this).replace(/ #.*$/s, "");
    const ended = () => `${list()}\n`;
    switch (this.#dice(12)) {
      case 0:
        return `( ${ended()})`;
      case 1:
        return `{ ${ended()}}`;
      case 2:
        return `if ${ended()} then ${ended()} else ${ended()} fi`;
      case 3:
        return `for v in ${this.word()} ${this.word()}; do ${ended()} done`;
      case 4:
        return `while ${ended()} do ${ended()} break\n done`;
      case 5:
        return `case ${this.word()} in a) ${ended()};; *) ${ended()};; esac`;
      case 6: {
        const name = `f${this.#functions++}`;
        return `${name}() { ${ended()}}\n${name} ${this.word()}`;
      }
      case 7:
        return `${this.#one(["sh", "bash"])} -c ${single(list())}`;
      case 8:
        return `eval ${single(list())}`;
      case 9:
        return `[[ -n ${this.word()} ]] && ${list()}`;
      case 10:
        return `{ ${ended()}} & wait`;
      default:
        return `trap ${single(list())} EXIT`;
    }
  }

  /** A word, often one that runs something. */
  word(): string {
    if (this.#depth > 2 || this.#dice(2) === 0) return this.#plain.word();
    this.#depth++;
    try {
      return this.#expanded();
    } finally {
      this.#depth--;
    }
  }

  #expanded(): string {
    const inner = () => this.#plain.joined(1, this).replace(/ #.*$/s, "");
    const plain = () =>
      new PlainLine(this.#dice).line().replace(/[`\\#!]/g, "");
    switch (this.#dice(12)) {
      case 0:
        return `$(${inner()})`;
      case 1:
        return `"a $(${inner()}) b"`;
      case 2:
        return `\`${plain().split("\n")[0]}\``;
      case 3:
        return `\${v:-${this.word()}}`;
      case 4:
        return `\${v:-$(${inner()})}`;
      case 5:
        return `<(${inner()})`;
      case 6:
        return `$((1 + $(${inner()} >/dev/null; echo 1)))`;
      case 7:
        return this.#one(EXPANSIONS);
      case 8:
        return this.#one(ODDITIES);
      case 9:
        return `"\${v:-\`${plain().split("\n")[0]?.replaceAll('"', "")}\`}"`;
      case 10:
        return `"\${v:+a}$(${inner()})"`;
      default:
        return `>(${inner()})`;
    }
  }

  #heredoc(): string {
    switch (this.#dice(12)) {
      case 0:
        return `\ncat <<E\na $(${this.#plain.command(this)}) b\nE\n${this.#plain.command(this)}`;
      case 1:
        return `\ncat <<'E'\n$(${this.#plain.command(this)})\nE\n${this.#plain.command(this)}`;
      case 2:
        return `\ncat <<-E && ${this.#plain.command(this)}\n\tx \`ls\`\n\tE\n`;
      default:
        return "";
    }
  }

  #one<T>(choices: readonly T[]): T {
    return oneOf(choices, this.#dice);
  }
}
