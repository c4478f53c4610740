import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Expectation } from "@devtool/schema/conformance";
import type { Answered, Exchange } from "./binding/binding.ts";
import { fieldsOf } from "./json-fields.ts";
import { mismatch, missingInOrder } from "./match.ts";
import type { Variables } from "./variables.ts";

/** Says what in an exchange is not as expected; undefined when all is. */
export function unexpected(expected: Expectation, exchange: Exchange, variables: Variables): string | undefined {
  const checks = [checkStatus, checkHeaders, checkError, checkResult, checkFrames, checkEnds, checkIds];
  for (const check of checks) {
    const problem = check(expected, exchange, variables);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

type Check = (expected: Expectation, exchange: Exchange, variables: Variables) => string | undefined;

const checkStatus: Check = ({ httpStatus, errorCode }, { status }) => {
  if (httpStatus === 0 && errorCode !== undefined) return undefined;
  if (httpStatus === 0 && status >= 200 && status < 300) return undefined;
  return status === httpStatus ? undefined : `the HTTP status must be ${httpStatus || "2xx"}: got ${status}`;
};

const checkHeaders: Check = ({ headers }, exchange, variables) => {
  for (const [name, value] of Object.entries(headers)) {
    const problem = mismatch(variables.text(value), exchange.headers.get(name) ?? undefined, name);
    if (problem !== undefined) return problem;
  }
  return undefined;
};

const checkError: Check = ({ errorCode, otherErrorCodes, errorData, httpStatus }, { documents }, variables) => {
  const error = documents.map(({ json }) => json.error).find((value) => value !== undefined);
  const { code, data } = fieldsOf(error);
  if (errorCode === undefined)
    return code === undefined || httpStatus > 0 ? undefined : `no error was expected: got ${JSON.stringify(error)}`;
  const codes = [errorCode, ...otherErrorCodes];
  if (typeof code !== "number" || !codes.includes(code))
    return `the error code must be ${codes.join(" or ")}: got ${JSON.stringify(error ?? documents.at(-1)?.json)}`;
  return errorData ? mismatch(filled(errorData, variables), data, "error.data") : undefined;
};

const checkResult: Check = ({ result }, { documents }, variables) => {
  const [document] = documents;
  return result ? mismatch(filled(result, variables), resultOf(document?.json), "result") : undefined;
};

const checkFrames: Check = ({ frames, noFrames }, { documents }, variables) => {
  const results = resultsOf(documents);
  const missing = missingInOrder(
    frames.map((frame) => filled(frame, variables)),
    results,
  );
  if (missing !== undefined) return missing;
  const forbidden = noFrames.map((frame) => filled(frame, variables));
  const found = forbidden.find((frame) => results.some((result) => mismatch(frame, result) === undefined));
  return found === undefined ? undefined : `a frame came that must not: ${JSON.stringify(found)}`;
};

const checkEnds: Check = ({ firstFrame, lastFrame }, { documents }, variables) => {
  const results = resultsOf(documents);
  const first = firstFrame && mismatch(filled(firstFrame, variables), results[0], "first frame");
  return first ?? (lastFrame && mismatch(filled(lastFrame, variables), results.at(-1), "last frame"));
};

const checkIds: Check = ({ consecutiveIds, firstId }, { documents }) => {
  const ids = documents.map(({ id }) => id);
  if (firstId !== "" && ids[0] !== firstId) return `the first id must be ${firstId}: got ${ids[0]}`;
  if (!consecutiveIds) return undefined;
  const broken = ids.findIndex((id, index) => Number(id) !== Number(ids[0]) + index);
  return broken < 0 ? undefined : `ids must go up by one: ${ids[broken]} follows ${ids[broken - 1]}`;
};

/** Says which id came before in the case; undefined when none did. Adds the ids of the exchange to those that are known. */
export function repeatedId({ documents }: Exchange, known: Set<string>): string | undefined {
  for (const { id } of documents) {
    if (id === undefined || id === "") continue;
    if (known.has(id)) return `no event comes twice: got id ${id} again`;
    known.add(id);
  }
  return undefined;
}

function filled(value: Value, variables: Variables): JsonValue {
  return variables.fill(toJson(ValueSchema, value));
}

/** The result in a JSON-RPC response; the document itself when it is none. */
export function resultOf(document: Readonly<Record<string, JsonValue>> | undefined): JsonValue | undefined {
  return document?.jsonrpc === undefined ? document : document.result;
}

/** The results of the documents of an answer, errors left out. */
export function resultsOf(documents: readonly Answered[]): JsonValue[] {
  return documents.flatMap(({ json }) => resultOf(json) ?? []);
}
