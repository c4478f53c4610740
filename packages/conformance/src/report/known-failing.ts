import { fromJsonString } from "@bufbuild/protobuf";
import {
  type ExpectedFailure,
  type KnownFailing,
  KnownFailingSchema,
} from "../protos.ts";

/**
 * Reads a list of known failures from JSON (`KnownFailing`). Throws for unknown
 * fields, for an entry without a reason, and for an entry that is listed twice.
 */
export function readKnownFailing(json: string): KnownFailing {
  const known = fromJsonString(KnownFailingSchema, json);
  const silent = known.failures.find(({ reason }) => reason.trim() === "");
  if (silent) {
    throw new Error(
      `known failure "${silent.id}" has no reason: say why it fails`,
    );
  }
  const keys = known.failures.map(({ id, binding, protocolVersion }) =>
    [id, protocolVersion, binding].join(" "),
  );
  const twice = known.failures.find(
    (_entry, index) => keys.indexOf(keys[index] ?? "") !== index,
  );
  if (twice) {
    throw new Error(`known failure "${twice.id}" is listed twice: remove one`);
  }
  return known;
}

/**
 * The binding and version that a server was tested over. Both are empty for a
 * program.
 */
export interface BindingId {
  readonly name: string;
  readonly protocolVersion: string;
}

/**
 * Lists the entries that hold for a binding. One that names no binding or no
 * version holds for all of them.
 */
export function knownFailuresFor(
  { failures }: KnownFailing,
  { name, protocolVersion }: BindingId,
): ExpectedFailure[] {
  return failures.filter(
    (entry) =>
      ["", name].includes(entry.binding) &&
      ["", protocolVersion].includes(entry.protocolVersion),
  );
}
