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
  readonly #named: Set<string>;

  /**
   * The variables in `named` are of the files, and stand for nothing else: a
   * secret of one server is no value of another.
   */
  constructor(home: string, named: Iterable<string> = []) {
    this.home = home;
    this.#named = new Set(named);
  }

  /** The variables that the files name themselves. */
  get ofFiles(): ReadonlySet<string> {
    return this.#named;
  }

  /** Each variable with its place, in the order of their first use. */
  get places(): ReadonlyMap<string, string> {
    return this.#places;
  }

  /** Returns `${NAME}` for a variable that a file names. */
  named(name: string, place: string): string {
    this.#named.add(name);
    return this.#use(name, place);
  }

  /**
   * Returns the variable in whose place a secret was: `${NAME}`, or
   * `${SERVER_NAME}` where that is not clear.
   */
  forSecret({ server, name, secret }: FoundSecret, place: string): string {
    const long = upperName(server, name);
    const choices = place.startsWith("env.") ? [upperName(name), long] : [long];
    return this.#invent(choices, `secret ${secret}`, place);
  }

  /**
   * Returns the variable for what the program of a file asks its user: `${ID}`,
   * or `${SERVER_ID}` where that is not clear.
   */
  forInput(
    { server, id, file }: Record<"server" | "id" | "file", string>,
    place: string,
  ): string {
    const choices = [upperName(id), upperName(server, id)];
    return this.#invent(choices, `input ${JSON.stringify([file, id])}`, place);
  }

  /** Returns the first of the choices, or of their numbers, that is free. */
  #invent(choices: readonly string[], value: string, place: string): string {
    const isFree = (choice: string): boolean =>
      !this.#named.has(choice) &&
      (this.#secrets.get(choice) ?? value) === value;
    let chosen = choices.find(isFree);
    for (let at = 2; chosen === undefined; at++) {
      chosen = [`${choices.at(-1)}_${at}`].find(isFree);
    }
    this.#secrets.set(chosen, value);
    return this.#use(chosen, place);
  }

  #use(name: string, place: string): string {
    if (!this.#places.has(name)) this.#places.set(name, place);
    return `\${${name}}`;
  }
}

/** Returns a name for a variable: `github-token` is `GITHUB_TOKEN`. */
function upperName(...words: readonly string[]): string {
  const name = words.join("_").toUpperCase().replaceAll(/\W+/g, "_");
  return /^\d/.test(name) ? `_${name}` : name;
}
