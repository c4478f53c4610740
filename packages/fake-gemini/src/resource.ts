import type { IncomingHttpHeaders } from "node:http";

/** What a request is for, as its address says. */
export interface Resource {
  /** `gemini`: the Gemini API. `vertex`: Vertex AI under a project. `express`: Vertex AI with a key and no project. */
  readonly api: "gemini" | "vertex" | "express";
  readonly model: string;
  /** What is done with the model, for instance `streamGenerateContent`. */
  readonly method: string;
}

const PATH =
  /^\/v1(?:alpha|beta|beta1)?\/(?:(?<project>projects\/[^/]+\/locations\/[^/]+\/)?(?<publisher>publishers\/google\/))?models\/(?<model>[^/:]+):(?<method>\w+)$/;

/** Reads a path; undefined when it is none of the API's. */
export function resourceOf(path: string): Resource | undefined {
  const { project, publisher, model, method } = PATH.exec(path)?.groups ?? {};
  if (model === undefined || method === undefined) return undefined;
  if (publisher === undefined) return { api: "gemini", model, method };
  return { api: project === undefined ? "express" : "vertex", model, method };
}

/** Whether a request says who asks, as Vertex AI wants it. The Gemini API takes anybody here. */
export function isIdentified({ api }: Resource, headers: IncomingHttpHeaders): boolean {
  if (api === "gemini" || (headers["x-goog-api-key"] ?? "") !== "") return true;
  return api === "vertex" && /^Bearer .+/.test(headers.authorization ?? "");
}
