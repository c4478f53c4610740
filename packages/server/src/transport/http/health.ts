import { create, fromJson, toJsonString } from "@bufbuild/protobuf";
import { ReadinessRequestSchema, ReadinessSchema } from "@devtool/schema";
import { type HttpRequest, type Route, send } from "./route.ts";
import { PROOF_BYTES } from "./server-proof.ts";

/** What the health probes answer from. */
export interface HealthOptions {
  /** Why the server takes no work; empty when it does. */
  readonly problem: () => Promise<string>;
  /** Answers a challenge with the server's proof. */
  readonly prove: (challenge: Uint8Array) => Uint8Array;
}

/** `/healthz`: the process answers. `/readyz`: it takes work, 503 with the reason while it does not, and proves who it is when asked. */
export function healthRoutes({ problem: problemOf, prove }: HealthOptions): Route[] {
  return [
    probe("/healthz", async () => ({ status: OK })),
    probe("/readyz", async (request) => {
      const challenge = challengeOf(request);
      if (challenge === undefined) return undefined;
      const problem = await problemOf();
      const status = problem === "" ? OK : "unavailable";
      return { status, problem, ...(challenge.length > 0 && { proof: prove(challenge) }) };
    }),
  ];
}

const OK = "ok";

interface Answer {
  readonly status: string;
  readonly problem?: string;
  readonly proof?: Uint8Array;
}

/** A probe answers without credentials; undefined when the request cannot be read. */
function probe(path: string, answerTo: (request: HttpRequest) => Promise<Answer | undefined>): Route {
  return {
    name: `GET ${path}`,
    access: "public",
    matches: (method, requested) => (method === "GET" || method === "HEAD") && requested === path,
    handle: async (request, response) => {
      const answer = await answerTo(request);
      if (!answer) return send(response, 400, { body: JSON.stringify({ error: UNREADABLE }) });
      const body = toJsonString(ReadinessSchema, create(ReadinessSchema, answer));
      send(response, answer.status === OK ? 200 : 503, { body, "cache-control": "no-store" });
    },
  };
}

const UNREADABLE = `challenge cannot be read: send ${PROOF_BYTES} bytes, once, in base64url`;

/** The challenge in the query of a request, empty when there is none; undefined when it has the wrong size or form. */
function challengeOf({ url = "" }: HttpRequest): Uint8Array | undefined {
  const [challenge, ...others] = new URL(url, "http://server").searchParams.getAll("challenge");
  if (challenge === undefined) return new Uint8Array();
  // 32 bytes are 43 digits; nothing longer is decoded.
  if (others.length > 0 || !/^[\w-]{43}$/.test(challenge)) return undefined;
  return fromJson(ReadinessRequestSchema, { challenge }).challenge;
}
