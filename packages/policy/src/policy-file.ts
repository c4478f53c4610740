import { constants, type Stats } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import {
  grants,
  isOfAnother,
  OTHERS_WRITE,
} from "@devtool/internal/file-access";
import type { CompiledRule, PolicyTier } from "./compiled-rule.ts";
import { errorCode, fileError } from "./policy-error.ts";

/** A file of rules. */
export interface PolicySource {
  readonly path: string;
  readonly tier: PolicyTier;
  /** The name of the file in decisions and errors. Default: its path. */
  readonly label?: string;
}

/** The rules of a server, with the names that they have in decisions. */
export interface ServerRules {
  /** Those with the paths of the operator's files. */
  readonly rules: readonly CompiledRule[];
  /**
   * The same, with the number of an operator's file in place of its path, for
   * instance `operator-1:3`: clients must not see paths of the server.
   */
  readonly publicRules: readonly CompiledRule[];
}

const MAX_FILE_BYTES = 256 * 1024;
/**
 * Characters that are not shown, except joiners: emoji and some alphabets need
 * those, also in file names.
 *
 * With one of them, a rule would not match the text that people read.
 */
const INVISIBLE = /[\p{Cf}--[\u200c\u200d]]/v;

/**
 * Reads the rules of the user, which are in the data directory, and those of
 * the operator's files. Throws a `PolicyError` for an invalid file.
 */
export async function readRules(
  dataDirectory: string | undefined,
  policyFiles: readonly string[],
): Promise<ServerRules> {
  const label = "policy.toml";
  const own =
    dataDirectory === undefined
      ? []
      : await readPolicyFile({
          path: join(dataDirectory, label),
          tier: "user",
          label,
        });
  const operators = await Promise.all(
    policyFiles.map((path) => readPolicyFile({ path, tier: "operator" })),
  );
  const numbered = policyFiles.flatMap((path, at) =>
    (operators[at] ?? []).map((rule) => ({
      ...rule,
      label: `operator-${at + 1}${rule.label.slice(path.length)}`,
    })),
  );
  return {
    rules: [...own, ...operators.flat()],
    publicRules: [...own, ...numbered],
  };
}

/**
 * Reads the rules of a policy file. A user's file that does not exist has no
 * rules; one that an operator names must exist.
 *
 * Throws a `PolicyError` that names the file, the rule and the field: for a
 * file that cannot be read, that others than its owner may write, that is
 * larger than 256 KiB or is not valid TOML, and for a rule with an unknown
 * field or a value that cannot be used.
 */
export async function readPolicyFile({
  path,
  tier,
  label = path,
}: PolicySource): Promise<CompiledRule[]> {
  if (tier === "user") {
    // A dangling link is not a missing file: the user has rules, and they
    // cannot be read.
    const isMissing = await lstat(path).then(
      () => false,
      (reason: unknown) => errorCode(reason) === "ENOENT",
    );
    if (isMissing) return [];
  }
  // O_NONBLOCK keeps a pipe without a writer from blocking; the check below
  // refuses it.
  await using file = await open(
    path,
    constants.O_RDONLY | constants.O_NONBLOCK,
  ).catch((reason: unknown) => {
    throw fileError(label, `cannot be read: ${errorCode(reason)}`, {
      cause: reason,
    });
  });
  const stats = await file.stat();
  if (!stats.isFile()) throw fileError(label, "is not a regular file");
  assertOnlyOwnerWrites(label, stats);
  if (stats.size > MAX_FILE_BYTES) {
    throw fileError(
      label,
      `has ${stats.size} bytes: limit is ${MAX_FILE_BYTES}`,
    );
  }
  const text = (await file.readFile("utf8")).replace(/^\ufeff/, "");
  const { 0: hidden = "", index } = INVISIBLE.exec(text) ?? {};
  if (index !== undefined) {
    const code = hidden
      .codePointAt(0)
      ?.toString(16)
      .toUpperCase()
      .padStart(4, "0");
    const line = text.slice(0, index).split("\n").length;
    throw fileError(
      label,
      `has the invisible character U+${code} in line ${line}`,
      {
        remedy: `remove it, or write it as an escape, \\U${code?.padStart(8, "0")}`,
      },
    );
  }
  // Most servers have no rules, and start without what reads them.
  const { parsePolicyFile } = await import("./parse-policy-file.ts");
  return parsePolicyFile(text, { tier, file: label });
}

/**
 * Throws a `PolicyError` for a file that another user may write, or that
 * belongs neither to this user nor to root.
 */
export function assertOnlyOwnerWrites(
  label: string,
  stats: Pick<Stats, "mode" | "uid">,
): void {
  if (grants(stats, OTHERS_WRITE)) {
    const problem = `may be changed by others (mode ${(stats.mode & 0o777).toString(8)})`;
    throw fileError(label, problem, { remedy: "run chmod go-w" });
  }
  if (stats.uid !== 0 && isOfAnother(stats)) {
    throw fileError(label, "belongs to another user", { remedy: "chown it" });
  }
}
