import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
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
    await authority.#openssl(
      "req",
      "-x509",
      ...FRESH,
      "-subj",
      `/CN=${name}`,
      ...authority.#files(name),
    );
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

  /**
   * Signs a new certificate for a subject, with an alternative name in
   * OpenSSL's syntax. Default: 127.0.0.1.
   */
  async issue(
    subject: string,
    alternative = "IP:127.0.0.1",
  ): Promise<Certificate> {
    const name = `${this.#name}-${++this.#count}`;
    const from = [
      "-CA",
      this.#path(`${this.#name}.pem`),
      "-CAkey",
      this.#path(`${this.#name}.key`),
    ];
    const names = ["-addext", `subjectAltName=${alternative}`];
    await this.#openssl(
      "req",
      "-x509",
      ...FRESH,
      "-subj",
      subject,
      ...names,
      ...from,
      ...this.#files(name),
    );
    const [certificate, key] = await Promise.all([
      readFile(this.#path(`${name}.pem`), "utf8"),
      readFile(this.#path(`${name}.key`), "utf8"),
    ]);
    return { certificate, key };
  }

  /**
   * Signs a client certificate with limits of its own. A `signer` signs it in
   * the authority's place.
   */
  async issueLimited(
    subject: string,
    { from, to, usage = "clientAuth", signer }: CertificateLimits,
  ): Promise<Certificate> {
    const name = `${this.#name}-${++this.#count}`;
    const [request, signed, settings] = [".csr", ".pem", ".cnf"].map((end) =>
      this.#path(name + end),
    );
    const by = signer ? await this.#keep(signer) : this.#name;
    await mkdir(this.#path("made"), { recursive: true });
    await writeFile(this.#path("index.txt"), "");
    await writeFile(settings ?? "", settingsOf(this.#directory, usage));
    await this.#openssl(
      "req",
      ...FRESH.slice(0, -2),
      "-subj",
      subject,
      "-keyout",
      this.#path(`${name}.key`),
      "-out",
      request ?? "",
    );
    const dates =
      from && to ? ["-startdate", from, "-enddate", to] : ["-days", "2"];
    const signing = [
      "-cert",
      this.#path(`${by}.pem`),
      "-keyfile",
      this.#path(`${by}.key`),
    ];
    await this.#openssl(
      "ca",
      "-batch",
      "-notext",
      "-config",
      settings ?? "",
      ...signing,
      ...dates,
      "-in",
      request ?? "",
      "-out",
      signed ?? "",
    );
    const certificate = await readFile(signed ?? "", "utf8");
    const key = await readFile(this.#path(`${name}.key`), "utf8");
    // A client also sends the certificate of its signer.
    return { certificate: certificate + (signer?.certificate ?? ""), key };
  }

  async #keep({ certificate, key }: Certificate): Promise<string> {
    const name = `${this.#name}-signer-${++this.#count}`;
    await writeFile(this.#path(`${name}.pem`), certificate);
    await writeFile(this.#path(`${name}.key`), key);
    return name;
  }

  #files(name: string): string[] {
    return [
      "-keyout",
      this.#path(`${name}.key`),
      "-out",
      this.#path(`${name}.pem`),
    ];
  }

  #path(file: string): string {
    return join(this.#directory, file);
  }

  async #openssl(...args: string[]): Promise<void> {
    await promisify(execFile)("openssl", args);
  }
}

/** Limits of a client certificate. */
export interface CertificateLimits {
  /**
   * Start and end of its validity, as `YYYYMMDDHHMMSSZ`. Default: now, and in
   * two days.
   */
  readonly from?: string;
  readonly to?: string;
  /** The extended key usage. Default: `clientAuth`. */
  readonly usage?: string;
  /** The signer in the authority's place. Default: the authority. */
  readonly signer?: Certificate;
}

/** The settings of `openssl ca`, the only command that sets both dates. */
function settingsOf(directory: string, usage: string): string {
  return `[ca]
default_ca = ours
[ours]
database = ${directory}/index.txt
new_certs_dir = ${directory}/made
default_md = sha256
rand_serial = yes
policy = names
unique_subject = no
x509_extensions = limits
[names]
organizationName = optional
commonName = optional
[limits]
basicConstraints = CA:FALSE
extendedKeyUsage = ${usage}
`;
}

const FRESH = [
  "-newkey",
  "ec",
  "-pkeyopt",
  "ec_paramgen_curve:prime256v1",
  "-nodes",
  "-days",
  "2",
];

/**
 * Whether OpenSSL 3.0 or later is installed, which signs for an authority in
 * one step.
 */
export async function hasOpenssl(): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)("openssl", ["version"]);
    return /^OpenSSL ([3-9]|\d\d)/.test(stdout);
  } catch {
    return false;
  }
}
