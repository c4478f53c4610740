import type { IncomingHttpHeaders } from "node:http";

/** The target of a request, from its path. */
export interface Resource {
  /**
   * `gemini`: the Gemini API. `vertex`: Vertex AI in a project. `express`:
   * Vertex AI with a key and no project.
   */
  readonly api: "gemini" | "vertex" | "express";
  readonly model: string;
  /** The method of the model, such as `streamGenerateContent`. */
  readonly method: string;
}

const PATH =
  /^\/v1(?:alpha|beta|beta1)?\/(?:(?<project>projects\/[^/]+\/locations\/[^/]+\/)?(?<publisher>publishers\/google\/))?models\/(?<model>[^/:]+):(?<method>\w+)$/;

/** Parses a path. Undefined if it is not in the API. */
export function parseResource(path: string): Resource | undefined {
  const { project, publisher, model, method } = PATH.exec(path)?.groups ?? {};
  if (model === undefined || method === undefined) return undefined;
  if (publisher === undefined) return { api: "gemini", model, method };
  return { api: project === undefined ? "express" : "vertex", model, method };
}

/**
 * Returns whether a request has credentials, which Vertex AI requires. The
 * Gemini API accepts requests without any here.
 */
export function hasCredentials(
  { api }: Resource,
  headers: IncomingHttpHeaders,
): boolean {
  if (api === "gemini" || (headers["x-goog-api-key"] ?? "") !== "") return true;
  return api === "vertex" && /^Bearer .+/.test(headers.authorization ?? "");
}
