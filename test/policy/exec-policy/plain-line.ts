import { type Dice, oneOf } from "./dice.ts";
import { double, escaped, single } from "./quotes.ts";
import {
  BLANKS,
  HARMLESS,
  PROGRAMS,
  SEPARATORS,
  VALUES,
} from "./vocabulary.ts";

/** The parts of a generated command line. */
export interface LineParts {
  command(): string;
  word(): string;
}

/**
 * Commands of literal words in all kinds of quotes, joined by all kinds of
 * signs.
 */
export class PlainLine implements LineParts {
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** A line of one to three commands. */
  line(parts: LineParts = this): string {
    return this.joined(1 + this.#dice(3), parts);
  }

  /** Returns a line with this number of commands. */
  joined(count: number, parts: LineParts = this): string {
    let line = parts.command();
    for (let left = count - 1; left > 0; left--) {
      line += this.#one(SEPARATORS) + parts.command();
    }
    return line + this.#one(["", "", "", ";", "\n", " # x; rm y", " #x\nls"]);
  }

  /** A program with up to three words behind it. */
  command(parts: Pick<LineParts, "word"> = this): string {
    const words = Array.from({ length: this.#dice(4) }, () => parts.word());
    const name =
      this.#one(["", "", "", "", "! "]) + this.#quoted(this.#one(PROGRAMS));
    return [name, ...words].join(this.#one(BLANKS)) + this.#one(HARMLESS);
  }

  /** A literal word. */
  word(): string {
    return this.#quoted(this.#one(VALUES));
  }

  /** The same value, written in one of the ways that bash has. */
  #quoted(value: string): string {
    const at = this.#dice(value.length + 1);
    const [head, tail] = [value.slice(0, at), value.slice(at)];
    switch (this.#dice(7)) {
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

  #one<T>(choices: readonly T[]): T {
    return oneOf(choices, this.#dice);
  }
}
