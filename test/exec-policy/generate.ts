import { BLANKS, EXPANSIONS, HARMLESS, ODDITIES, SEPARATORS, VALUES } from "./vocabulary.ts";

/** Makes command lines of bash, the same ones for the same seed: half of them plain, half with all that bash has. */
export function generateCommands(count: number, seed: number): string[] {
  const dice = diceOf(seed);
  return Array.from({ length: count }, () => (dice(2) === 0 ? new Plain(dice) : new Wild(dice)).line());
}

/** The programs that exist where the command lines run. */
export const PROGRAMS: readonly string[] = ["rm", "ls", "git", "npm", "cat", "grep", "make", "x1", "a-b", "c.d", "tee"];

/** Programs that log themselves and then run what they are given. */
export const WRAPPERS: readonly string[] = ["env", "nice", "nohup", "xargs", "sh", "bash", "timeout"];

/** Gives a number from 0 to below its argument. */
type Dice = (sides: number) => number;

/** Mulberry32: small, and the same everywhere. */
function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

/** Commands of literal words in all kinds of quotes, joined by all kinds of signs. */
class Plain {
  protected readonly dice: Dice;

  constructor(dice: Dice) {
    this.dice = dice;
  }

  line(): string {
    return this.joined(1 + this.dice(3));
  }

  protected joined(count: number): string {
    let line = this.command();
    for (let left = count - 1; left > 0; left--) line += this.one(SEPARATORS) + this.command();
    return line + this.one(["", "", "", ";", "\n", " # x; rm y", " #x\nls"]);
  }

  protected command(): string {
    const words = Array.from({ length: this.dice(4) }, () => this.word());
    return [this.one(["", "", "", "", "! "]) + this.name(), ...words].join(this.one(BLANKS)) + this.one(HARMLESS);
  }

  protected name(): string {
    return this.quoted(this.one(PROGRAMS));
  }

  protected word(): string {
    return this.quoted(this.one(VALUES));
  }

  /** The same value, written in one of the ways that bash has. */
  protected quoted(value: string): string {
    const at = this.dice(value.length + 1);
    const [head, tail] = [value.slice(0, at), value.slice(at)];
    switch (this.dice(7)) {
      case 0:
        return single(value);
      case 1:
        return double(value);
      case 2:
        return single(head) + double(tail);
      case 3:
        return double(head) + escaped(tail);
      case 4:
        return escaped(head) + single(tail);
      default:
        return /^[\w./=:,@%+-]+$/.test(value) ? value : single(value);
    }
  }

  protected one<T>(choices: readonly T[]): T {
    const choice = choices[this.dice(choices.length)];
    if (choice === undefined) throw new Error("nothing to choose from");
    return choice;
  }
}

/** Commands with expansions, redirections, groups, control flow, functions, wrappers and mistakes. */
class Wild extends Plain {
  #depth = 0;
  // Each function has a name of its own: none calls itself.
  #functions = 0;

  override line(): string {
    const line = super.line();
    // A tenth is broken: something is missing, or too much.
    if (this.dice(10) > 0) return `${line}${this.heredoc()}`;
    const at = this.dice(line.length + 1);
    return (
      line.slice(0, at) + this.one(['"', "'", "(", ")", "`", "&", "|", ";", "{", "}", "<", "\\", "\n"]) + line.slice(at)
    );
  }

  protected override command(): string {
    if (this.#depth > 2) return super.command();
    this.#depth++;
    try {
      return this.dice(4) === 0 ? this.compound() : this.simple();
    } finally {
      this.#depth--;
    }
  }

  private simple(): string {
    const assignment = this.one(["", "", "", "", "", "V=1 ", "V=$(ls) ", "A=b C='d e' ", "V=`rm` "]);
    const redirect = () =>
      this.one(["", "", "", "", ` >f${this.dice(3)}`, " 2>&1", " 2>g", " <f0", " &>h", " >>f1 ", ` <<<${this.word()}`]);
    const wrapper = this.one([
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
    return `${redirect()} ${assignment}${wrapper}${super.command()}${redirect()}`;
  }

  private compound(): string {
    const list = () => this.joined(1).replace(/ #.*$/s, "");
    const ended = () => `${list()}\n`;
    switch (this.dice(12)) {
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
        return `${this.one(["sh", "bash"])} -c ${single(list())}`;
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

  protected override word(): string {
    if (this.#depth > 2 || this.dice(2) === 0) return super.word();
    this.#depth++;
    try {
      return this.expanded();
    } finally {
      this.#depth--;
    }
  }

  private expanded(): string {
    const inner = () => this.joined(1).replace(/ #.*$/s, "");
    const plain = () => new Plain(this.dice).line().replace(/[`\\#!]/g, "");
    switch (this.dice(12)) {
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
        return this.one(EXPANSIONS);
      case 8:
        return this.one(ODDITIES);
      case 9:
        return `"\${v:-\`${plain().split("\n")[0]?.replaceAll('"', "")}\`}"`;
      case 10:
        return `"\${v:+a}$(${inner()})"`;
      default:
        return `>(${inner()})`;
    }
  }

  private heredoc(): string {
    switch (this.dice(12)) {
      case 0:
        return `\ncat <<E\na $(${super.command()}) b\nE\n${super.command()}`;
      case 1:
        return `\ncat <<'E'\n$(${super.command()})\nE\n${super.command()}`;
      case 2:
        return `\ncat <<-E && ${super.command()}\n\tx \`ls\`\n\tE\n`;
      default:
        return "";
    }
  }
}

function single(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}

function double(value: string): string {
  return `"${value.replaceAll(/[\\"$`]/g, "\\$&")}"`;
}

function escaped(value: string): string {
  return value.includes("\n") ? single(value) : value.replaceAll(/[^\w./-]/g, "\\$&");
}
