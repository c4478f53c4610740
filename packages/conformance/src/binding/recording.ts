import { create } from "@bufbuild/protobuf";
import { type ExchangeRecord, ExchangeRecordSchema } from "../protos.ts";

/**
 * Maximum number of characters of a body that are kept.
 */
const MAX_CHARACTERS = 65_536;

/**
 * Records the requests and answers of a case as evidence of its result.
 */
export class Recording {
  readonly #records: ExchangeRecord[] = [];
  #step = 0;

  /**
   * The exchanges so far, in order.
   */
  get records(): readonly ExchangeRecord[] {
    return this.#records;
  }

  /**
   * Whether the answer to the last request has begun.
   */
  get isAnswered(): boolean {
    return (this.#records.at(-1)?.status ?? "") !== "";
  }

  /**
   * Starts a step. Steps are numbered from 1; 0 is the evidence of the whole
   * case.
   */
  startStep(step: number): void {
    this.#step = step;
  }

  /**
   * Adds a request. Credentials are replaced by `[hidden]`.
   */
  addRequest(
    requestLine: string,
    headers: Iterable<readonly [string, string]>,
    body: string,
  ): void {
    const requestHeaders = Object.fromEntries(
      [...headers].map(([name, value]) => [
        name,
        name.toLowerCase() === "authorization" ? "[hidden]" : value,
      ]),
    );
    const record = {
      step: this.#step,
      requestLine,
      requestHeaders,
      requestBody: truncate(body),
    };
    this.#records.push(create(ExchangeRecordSchema, record));
  }

  /**
   * Sets the status and headers of the answer to the last request.
   */
  setResponse(
    status: string,
    headers: Iterable<readonly [string, string]>,
  ): void {
    this.#update({ status, responseHeaders: Object.fromEntries(headers) });
  }

  /**
   * Sets the body of the answer to the last request, as far as it has arrived.
   */
  setResponseBody(body: string): void {
    this.#update({ responseBody: truncate(body) });
  }

  #update(change: Partial<ExchangeRecord>): void {
    const last = this.#records.pop();
    if (last) this.#records.push({ ...last, ...change });
  }
}

function truncate(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  return `${text.slice(0, MAX_CHARACTERS)}… (${text.length - MAX_CHARACTERS} more characters)`;
}
