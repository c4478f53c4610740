/** A value of a server that looks like a secret. */
interface FoundSecret {
  readonly server: string;
  /** What the value is called there. */
  readonly name: string;
  readonly secret: string;
}

/**
 * The variables that imported servers need, each with where its value is used
 * or found. Secrets are known only to tell them apart.
 */
export class Variables {
  /** The home directory of the user. */
  readonly home: string;
  readonly #places = new Map<string, string>();
  readonly #secrets = new Map<string, string>();

  constructor(home: string) {
    this.home = home;
  }

  /** Each variable with its place, in the order of their first use. */
  get places(): ReadonlyMap<string, string> {
    return this.#places;
  }

  /** Returns `${NAME}` for a variable that a file names. */
  named(name: string, place: string): string {
    if (!this.#places.has(name)) this.#places.set(name, place);
    return `\${${name}}`;
  }

  /**
   * Returns the variable in whose place a secret was: `${NAME}`, or
   * `${SERVER_NAME}` where that is not clear.
   */
  forSecret({ server, name, secret }: FoundSecret, place: string): string {
    const short = upperName(name);
    const choices = [
      ...(place.startsWith("env.") ? [short] : []),
      upperName(server, name),
    ];
    const free = choices.find(
      (choice) =>
        !this.#places.has(choice) || this.#secrets.get(choice) === secret,
    );
    const chosen = free ?? this.#numbered(upperName(server, name), secret);
    this.#secrets.set(chosen, secret);
    return this.named(chosen, place);
  }

  #numbered(name: string, secret: string): string {
    for (let at = 2; ; at++) {
      const choice = `${name}_${at}`;
      const isOther = this.#secrets.get(choice) !== secret;
      if (!this.#places.has(choice) || !isOther) return choice;
    }
  }
}

/** Returns a name for a variable: `github-token` is `GITHUB_TOKEN`. */
export function upperName(...words: readonly string[]): string {
  const name = words.join("_").toUpperCase().replaceAll(/\W+/g, "_");
  return /^\d/.test(name) ? `_${name}` : name;
}
