import { hash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { grants, OTHERS } from "@devtool/internal/file-access";
import { replaceFile } from "@devtool/internal/replace-file";
import { SigningKeyFileSchema } from "@devtool/schema";
import { Code, DevtoolError, type ErrorOptions } from "../errors.ts";
import type { KeyStorage } from "../store/key-storage.ts";

/**
 * Keeps keys in a file with mode 0600, which one server uses at a time, and its
 * operator beside it.
 */
export function keyFile(path: string): KeyStorage {
  // Throws for a file that is damaged, or that other users can access. Without
  // a file there are no keys.
  const read: KeyStorage["read"] = async () => {
    try {
      if (grants(await stat(path), OTHERS)) {
        throw unusable(path, "other users can access it", {
          remedy: "remove it, and the server creates a new one",
        });
      }
      const text = await readFile(path, "utf8");
      const keys = fromJsonString(SigningKeyFileSchema, text);
      return { keys, version: versionOf(text) };
    } catch (reason) {
      if (reason instanceof DevtoolError) throw reason;
      if (
        reason instanceof Error &&
        "code" in reason &&
        reason.code === "ENOENT"
      ) {
        return { keys: create(SigningKeyFileSchema), version: 0n };
      }
      throw unusable(path, "it cannot be read", {
        remedy: "repair or remove it",
        cause: reason,
      });
    }
  };
  return {
    read,
    async replace(keys, version) {
      // The operator may have revoked a key that the server still knows.
      if ((await read()).version !== version) return false;
      const json = toJsonString(SigningKeyFileSchema, keys, {
        prettySpaces: 2,
      });
      failpoint("devtool:signing-keys.write.before");
      await replaceFile(path, `${json}\n`);
      failpoint("devtool:signing-keys.write.after");
      return true;
    },
  };
}

function versionOf(text: string): bigint {
  return BigInt(`0x${hash("sha256", text).slice(0, 16)}`);
}

function unusable(
  path: string,
  why: string,
  options: ErrorOptions,
): DevtoolError {
  const problem = `signing keys ${JSON.stringify(path)} cannot be used: ${why}`;
  return new DevtoolError(problem, Code.FailedPrecondition, options);
}
