import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** A certificate and its key, in PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Makes an authority, and certificates that it signs, with OpenSSL. */
export class Authority {
  readonly #directory: string;
  readonly #name: string;
  #count = 0;

  static async create(directory: string, name: string): Promise<Authority> {
    const authority = new Authority(directory, name);
    await authority.#openssl("req", "-x509", ...FRESH, "-subj", `/CN=${name}`, ...authority.#files(name));
    return authority;
  }

  private constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
  }

  /** The authority's own certificate. */
  async certificate(): Promise<string> {
    return readFile(join(this.#directory, `${this.#name}.pem`), "utf8");
  }

  /** Signs a new certificate for a subject, also for a name or address in OpenSSL's words. Default: 127.0.0.1. */
  async issue(subject: string, alternative = "IP:127.0.0.1"): Promise<Certificate> {
    const name = `${this.#name}-${++this.#count}`;
    const from = ["-CA", this.#path(`${this.#name}.pem`), "-CAkey", this.#path(`${this.#name}.key`)];
    const names = ["-addext", `subjectAltName=${alternative}`];
    await this.#openssl("req", "-x509", ...FRESH, "-subj", subject, ...names, ...from, ...this.#files(name));
    const [certificate, key] = await Promise.all([
      readFile(this.#path(`${name}.pem`), "utf8"),
      readFile(this.#path(`${name}.key`), "utf8"),
    ]);
    return { certificate, key };
  }

  #files(name: string): string[] {
    return ["-keyout", this.#path(`${name}.key`), "-out", this.#path(`${name}.pem`)];
  }

  #path(file: string): string {
    return join(this.#directory, file);
  }

  async #openssl(...args: string[]): Promise<void> {
    await promisify(execFile)("openssl", args);
  }
}

const FRESH = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];

/** Tells whether there is an OpenSSL that signs for an authority in one step, as 3.0 and later do. */
export async function hasOpenssl(): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)("openssl", ["version"]);
    return /^OpenSSL ([3-9]|\d\d)/.test(stdout);
  } catch {
    return false;
  }
}
