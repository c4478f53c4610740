import { describe, expect, it } from "vitest";
import { geminiOptionsFrom } from "./gemini-options.ts";

describe("geminiOptionsFrom", () => {
  it("is undefined without a key or a project", () => {
    expect(geminiOptionsFrom({})).toBeUndefined();
    expect(
      geminiOptionsFrom({ GEMINI_API_KEY: " ", GEMINI_MODEL: "m" }),
    ).toBeUndefined();
  });

  it("reads the key, the model and the address", () => {
    const environment = {
      GEMINI_API_KEY: "k",
      GEMINI_MODEL: "m",
      GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:1",
    };
    expect(geminiOptionsFrom(environment)).toEqual({
      apiKey: "k",
      model: "m",
      baseUrl: "http://127.0.0.1:1",
    });
  });

  it("prefers GOOGLE_API_KEY to GEMINI_API_KEY, as the SDK does", () => {
    expect(
      geminiOptionsFrom({ GEMINI_API_KEY: "a", GOOGLE_API_KEY: "b" }),
    ).toEqual({ apiKey: "b" });
    expect(geminiOptionsFrom({ GEMINI_API_KEY: "a" })).toEqual({ apiKey: "a" });
  });

  it("chooses Vertex AI for a project without a key, or with one if asked to", () => {
    const vertex = { project: "p", location: "global" };
    expect(geminiOptionsFrom({ GOOGLE_CLOUD_PROJECT: "p" })).toEqual({
      vertex,
    });
    expect(
      geminiOptionsFrom({ GOOGLE_CLOUD_PROJECT: "p", GEMINI_API_KEY: "k" }),
    ).toEqual({ apiKey: "k" });
    const asked = {
      GOOGLE_CLOUD_PROJECT: "p",
      GEMINI_API_KEY: "k",
      GOOGLE_GENAI_USE_VERTEXAI: "true",
    };
    expect(geminiOptionsFrom(asked)).toEqual({ vertex });
    const placed = {
      ...asked,
      GOOGLE_CLOUD_LOCATION: "europe-west4",
      GOOGLE_VERTEX_BASE_URL: "https://v",
    };
    expect(geminiOptionsFrom(placed)).toEqual({
      vertex: { project: "p", location: "europe-west4" },
      baseUrl: "https://v",
    });
  });

  it("chooses Vertex AI in express mode for a key alone if asked to", () => {
    const asked = {
      GOOGLE_GENAI_USE_VERTEXAI: "1",
      GOOGLE_API_KEY: "k",
      GOOGLE_CLOUD_LOCATION: "us-central1",
    };
    expect(
      geminiOptionsFrom({ ...asked, GOOGLE_VERTEX_BASE_URL: "https://v" }),
    ).toEqual({
      vertex: "express",
      apiKey: "k",
      baseUrl: "https://v",
    });
    expect(
      geminiOptionsFrom({ ...asked, GOOGLE_GENAI_USE_VERTEXAI: "false" }),
    ).toEqual({ apiKey: "k" });
  });

  it("throws if Vertex AI is asked for without a project or a key", () => {
    expect(() =>
      geminiOptionsFrom({ GOOGLE_GENAI_USE_VERTEXAI: "true" }),
    ).toThrow(
      /neither a project nor a key: set GOOGLE_CLOUD_PROJECT or GOOGLE_API_KEY/,
    );
  });
});
