import { create } from "@bufbuild/protobuf";
import { type ExchangeRecord, ExchangeRecordSchema } from "@devtool/schema/conformance";

const MAX_CHARACTERS = 65_536;

/** Keeps what is sent and what comes back while a case is played: the evidence of its result. */
export class Recording {
  readonly #records: ExchangeRecord[] = [];
  #step = 0;

  /** What was sent and what came back so far, in order. */
  get records(): readonly ExchangeRecord[] {
    return this.#records;
  }

  /** Begins a step; steps count from 1. */
  begin(step: number): void {
    this.#step = step;
  }

  /** Notes a request. Credentials are hidden. */
  sent(line: string, headers: Iterable<readonly [string, string]>, body: string): void {
    const requestHeaders = Object.fromEntries([...headers].map(([name, value]) => [name, shownHeader(name, value)]));
    const record = { step: this.#step, requestLine: line, requestHeaders, requestBody: cut(body) };
    this.#records.push(create(ExchangeRecordSchema, record));
  }

  /** Notes the status and the headers of what came back for the last request. */
  answered(status: string, headers: Iterable<readonly [string, string]>): void {
    this.#change({ status, responseHeaders: Object.fromEntries(headers) });
  }

  /** Notes the body of what came back for the last request, as far as it came. */
  received(body: string): void {
    this.#change({ responseBody: cut(body) });
  }

  #change(change: Partial<ExchangeRecord>): void {
    const last = this.#records.pop();
    if (last) this.#records.push({ ...last, ...change });
  }
}

function shownHeader(name: string, value: string): string {
  return name.toLowerCase() === "authorization" ? "[hidden]" : value;
}

function cut(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  return `${text.slice(0, MAX_CHARACTERS)}… (${text.length - MAX_CHARACTERS} characters more)`;
}
