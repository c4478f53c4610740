import type { JsonObject } from "@bufbuild/protobuf";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { quote, WireError } from "../wire-error.ts";
import { assertNoSettings } from "./settings.ts";

/**
 * Checks the parameters that carry a message for common mistakes, and throws a
 * `WireError` with the remedy.
 *
 * A lenient decoder would ignore them: a message in the form of the other
 * version of A2A, a part with `type` instead of `kind`, and settings next to
 * `metadata` instead of inside.
 */
export function assertMessageForm(
  { metadata: _metadata, ...params }: JsonObject,
  version: "0.3" | "1.0",
): void {
  const { metadata: _ofMessage, ...message } = objectOrEmpty(params.message);
  const role = stringOrEmpty(message.role);
  const other = version === "0.3" ? /^ROLE_(USER|AGENT)$/ : /^(user|agent)$/;
  if (other.test(role)) {
    throw new WireError("message.role", quote(role), OTHER_FORM[version]);
  }
  for (const [index, part] of listOrEmpty(message.parts).entries()) {
    const { kind, type, file, text } = objectOrEmpty(part);
    const path = `message.parts[${index}]`;
    if (version === "1.0" && kind === "file" && file !== undefined) {
      throw new WireError(
        `${path}.file`,
        "",
        "is written as in A2A 0.3: A2A 1.0 has url or raw in its place",
      );
    }
    if (version === "0.3" && kind === undefined && type !== undefined) {
      const wanted = JSON.stringify(text === undefined ? quote(type) : "text");
      throw new WireError(
        `${path}.type`,
        quote(type),
        `is not a field of A2A 0.3: write "kind": ${wanted}`,
      );
    }
  }
  assertNoSettings(params, "params");
  assertNoSettings(message, "message");
  const { metadata, ...configuration } = objectOrEmpty(params.configuration);
  assertNoSettings(configuration, "configuration");
  assertNoSettings(objectOrEmpty(metadata), "configuration.metadata");
}

const OTHER_FORM = {
  "0.3":
    'is written as in A2A 1.0, and this method is of A2A 0.3: write "user", or call SendMessage',
  "1.0":
    'is written as in A2A 0.3, and this method is of A2A 1.0: write "ROLE_USER", or call message/send',
} as const;
