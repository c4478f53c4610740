import type { Binding } from "./bindings.ts";
import type { Client, Question } from "./clients.ts";
import type { Random } from "./mutate.ts";

/** How a server is flooded. */
export interface FloodOptions {
  readonly client: Pick<Client, "ask">;
  /** Total number of requests. */
  readonly count: number;
  readonly random: Random;
}

/** A request that was not answered as it should be. */
export interface Wrong {
  /** The fault of the answer. */
  readonly fault: string;
  readonly path: string;
  /** The request: text unchanged, bytes in base64. */
  readonly body: string;
}

const AT_A_TIME = 50;

/**
 * Sends changed requests, many at a time, and says which were not answered as
 * the binding has answers.
 */
export async function flood(
  binding: Binding,
  { client, count, random }: FloodOptions,
): Promise<Wrong[]> {
  const wrong: Wrong[] = [];
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const question = binding.next(random);
      const fault = await faultOf(binding, client, question);
      if (fault !== undefined) {
        wrong.push({ fault, path: question.path, body: bodyText(question) });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return wrong;
}

async function faultOf(
  binding: Binding,
  client: FloodOptions["client"],
  question: Question,
): Promise<string | undefined> {
  try {
    return binding.faultOf(await client.ask(question));
  } catch (reason) {
    return `no answer: ${String(reason)}`;
  }
}

function bodyText({ body }: Question): string {
  return typeof body === "string" ? body : Buffer.from(body).toString("base64");
}
