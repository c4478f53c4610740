import { readFile, stat } from "node:fs/promises";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { replaceFile } from "@devtool/internal/replace-file";
import { SigningKeyFileSchema } from "@devtool/schema";
import { Code, DevtoolError, type ErrorOptions } from "../errors.ts";
import type { KeyStorage } from "../store/key-storage.ts";

/** Keeps keys in a file with mode 0600, which one server uses at a time. */
export function keyFile(path: string): KeyStorage {
  return {
    // Throws for a file that is damaged, or that other users can access.
    // Without a file there are no keys.
    async read() {
      try {
        const { mode } = await stat(path);
        if ((mode & 0o077) !== 0) {
          throw unusable(path, "other users can access it", {
            remedy: "remove it, and the server creates a new one",
          });
        }
        return {
          keys: fromJsonString(
            SigningKeyFileSchema,
            await readFile(path, "utf8"),
          ),
          version: 0n,
        };
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
    },
    async replace(keys) {
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

function unusable(
  path: string,
  why: string,
  options: ErrorOptions,
): DevtoolError {
  const problem = `signing keys ${JSON.stringify(path)} cannot be used: ${why}`;
  return new DevtoolError(problem, Code.FailedPrecondition, options);
}
