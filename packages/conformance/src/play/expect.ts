import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import type { AnswerDocument, Exchange } from "../binding/binding.ts";
import { mismatch, missingInOrder } from "../match/match.ts";
import type { Variables } from "../match/variables.ts";
import type { Expectation } from "../protos.ts";

/**
 * Describes the first thing in an exchange that is not as expected. Returns
 * undefined if the exchange meets the expectation.
 */
export function unexpected(
  expected: Expectation,
  exchange: Exchange,
  variables: Variables,
): string | undefined {
  for (const check of [checkHead, checkError, checkResults, checkIds]) {
    const problem = check(expected, exchange, variables);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Returns the result of a JSON-RPC response, or the document itself if it is
 * not a response.
 */
export function resultOf(
  document: JsonObject | undefined,
): JsonValue | undefined {
  return document?.jsonrpc === undefined ? document : document.result;
}

/**
 * Returns the results of the documents of an answer. Errors are left out.
 */
export function resultsOf(documents: readonly AnswerDocument[]): JsonValue[] {
  return documents.flatMap(({ json }) => resultOf(json) ?? []);
}

/**
 * Returns a problem if an event id came before in the same case. Adds the ids
 * of the exchange to `known`.
 */
export function repeatedIdProblem(
  { documents }: Exchange,
  known: Set<string>,
): string | undefined {
  for (const { id } of documents) {
    if (id === undefined || id === "") continue;
    if (known.has(id)) return `no event comes twice: got id ${id} again`;
    known.add(id);
  }
  return undefined;
}

type Check = (
  expected: Expectation,
  exchange: Exchange,
  variables: Variables,
) => string | undefined;

const checkHead: Check = (
  { httpStatus, errorCode, headers },
  exchange,
  variables,
) => {
  const { status } = exchange;
  const isUsual = errorCode !== undefined || (status >= 200 && status < 300);
  if (status !== httpStatus && !(httpStatus === 0 && isUsual)) {
    return `the HTTP status must be ${httpStatus || "2xx"}: got ${status}`;
  }
  for (const [name, value] of Object.entries(headers)) {
    const problem = mismatch(
      variables.fillText(value),
      exchange.headers.get(name) ?? undefined,
      name,
    );
    if (problem !== undefined) return problem;
  }
  return undefined;
};

const checkError: Check = (
  { errorCode, otherErrorCodes, errorData, httpStatus },
  { documents, status },
  variables,
) => {
  const error = documents
    .map(({ json }) => json.error)
    .find((value) => value !== undefined);
  const { code, data } = objectOrEmpty(error);
  if (errorCode === undefined) {
    const isError = code !== undefined && httpStatus === 0;
    return isError
      ? `no error was expected: got ${JSON.stringify(error)}`
      : undefined;
  }
  if (errorCode === 0) {
    return code === undefined && status < 400
      ? `an error was expected: got ${JSON.stringify(documents.at(-1)?.json)}`
      : undefined;
  }
  const codes = [errorCode, ...otherErrorCodes];
  if (typeof code !== "number" || !codes.includes(code)) {
    return `the error code must be ${codes.join(" or ")}: got ${JSON.stringify(error ?? documents.at(-1)?.json)}`;
  }
  return errorData
    ? mismatch(variables.fillValue(errorData), data, "error.data")
    : undefined;
};

const checkResults: Check = (
  { result, frames, noFrames, firstFrame, lastFrame },
  { documents },
  variables,
) => {
  const problem =
    result &&
    mismatch(
      variables.fillValue(result),
      resultOf(documents[0]?.json),
      "result",
    );
  if (problem !== undefined) return problem;
  const results = resultsOf(documents);
  const expected = frames.map((frame) => variables.fillValue(frame));
  const missing = missingInOrder(expected, results);
  if (missing !== undefined) return missing;
  const forbidden = noFrames.map((frame) => variables.fillValue(frame));
  const found = forbidden.find((frame) =>
    results.some((result) => mismatch(frame, result) === undefined),
  );
  if (found !== undefined) {
    return `a frame came that must not: ${JSON.stringify(found)}`;
  }
  const first =
    firstFrame &&
    mismatch(variables.fillValue(firstFrame), results[0], "first frame");
  return (
    first ??
    (lastFrame &&
      mismatch(variables.fillValue(lastFrame), results.at(-1), "last frame"))
  );
};

const checkIds: Check = ({ consecutiveIds, firstId }, { documents }) => {
  const ids = documents.map(({ id }) => id);
  if (firstId !== "" && ids[0] !== firstId) {
    return `the first id must be ${firstId}: got ${ids[0]}`;
  }
  if (!consecutiveIds) return undefined;
  const broken = ids.findIndex(
    (id, index) => Number(id) !== Number(ids[0]) + index,
  );
  return broken < 0
    ? undefined
    : `ids must go up by one: ${ids[broken]} follows ${ids[broken - 1]}`;
};
