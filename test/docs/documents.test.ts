import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import {
  FileDescriptorSetSchema,
  type Value,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { serveCodingAgent } from "@devtool/coding-agent";
import { jsonGoldens } from "@devtool/conformance/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { documents } from "../../scripts/documents/documents.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const made = documents();
const openApi = documentAt("openapi.json");

function documentAt(path: string) {
  return JSON.parse(made.get(path) ?? "");
}

function validator(): Ajv2020 {
  return new Ajv2020({
    allErrors: true,
    formats: { "date-time": (text) => !Number.isNaN(Date.parse(text)) },
  });
}

describe("the JSON Schemas of the RFC's messages", () => {
  const ajv = validator();
  const goldens = jsonGoldens().goldens;

  function accepts(type: string, value: Value | undefined): boolean {
    const name = type.split(".").at(-1);
    const id = `urn:devtool:a2a:v1alpha:${name}`;
    if (!ajv.getSchema(id)) {
      ajv.addSchema(documentAt(`json-schema/${name}.schema.json`));
    }
    return ajv.validate(id, value ? toJson(ValueSchema, value) : {});
  }

  it("are valid draft 2020-12", () => {
    const paths = [...made.keys()].filter((path) => path !== "openapi.json");
    expect(paths.length).toBeGreaterThan(15);
    for (const path of paths) {
      expect(validator().validateSchema(documentAt(path)), path).toBe(true);
    }
  });

  it("accept every golden document", () => {
    expect(goldens.length).toBeGreaterThan(30);
    expect(goldens.filter(({ type, json }) => !accepts(type, json))).toEqual(
      [],
    );
  });

  it("refuse every bad one", () => {
    const bad = goldens.flatMap(({ type, bad }) =>
      bad.map(({ json }) => ({ type, json })),
    );
    expect(bad.length).toBeGreaterThan(9);
    expect(bad.filter(({ type, json }) => accepts(type, json))).toEqual([]);
  });

  it("refuse names in lowerCamelCase, which only a lenient reader takes", () => {
    const camel = goldens.flatMap(({ type, lenient }) =>
      lenient.map((json) => ({ type, json })),
    );
    expect(camel.length).toBeGreaterThan(10);
    expect(camel.filter(({ type, json }) => accepts(type, json))).toEqual([]);
  });
});

describe("the OpenAPI document of A2A 1.0", () => {
  it("is valid OpenAPI 3.1", async () => {
    const { valid, errors } = await new Validator().validate(
      structuredClone(openApi),
    );
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  it("fails validation if it is invalid (sabotage)", async () => {
    const broken = structuredClone(openApi);
    broken.paths["/tasks"].get.responses["200"] = { content: {} };
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  it("describes what the server takes and sends", async () => {
    const workspace = temporaryDirectory();
    await using server = await serveCodingAgent({ workspace });
    // The document around the schemas has words that are none of JSON Schema's.
    const ajv = new Ajv2020({
      strictSchema: false,
      formats: { "date-time": true },
    }).addSchema(openApi, "openapi");
    const headers = {
      authorization: `Bearer ${server.token}`,
      "content-type": "application/json",
      "a2a-version": "1.0",
    };
    const message = {
      messageId: crypto.randomUUID(),
      role: "ROLE_USER",
      parts: [{ text: "run eval echo asked" }],
    };
    const sent = await called("post", "/message:send", { body: { message } });
    const id = sent.task?.id;
    await called("get", "/tasks/{id}", { id });
    await called("get", "/tasks", {});
    await called("post", "/tasks/{id}:cancel", { id, body: {} });
    await called("get", "/tasks/{id}", { id: "unknown", status: 404 });

    async function called(
      verb: string,
      path: string,
      { id = "", body, status = 200 }: Call,
    ) {
      const response = await fetch(server.url + path.replace("{id}", id), {
        method: verb.toUpperCase(),
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      expect(response.status, path).toBe(status);
      const json = JSON.parse(await response.text());
      const place = `paths/${path.replaceAll("/", "~1").replaceAll("{", "%7B").replaceAll("}", "%7D")}/${verb}`;
      const media = "content/application~1json/schema";
      const request = `openapi#/${place}/requestBody/${media}`;
      if (body !== undefined) {
        expect(ajv.validate(request, body), ajv.errorsText()).toBe(true);
      }
      const answer =
        status === 200
          ? `${place}/responses/200`
          : "components/responses/Error";
      expect(
        ajv.validate(`openapi#/${answer}/${media}`, json),
        ajv.errorsText(),
      ).toBe(true);
      expect(
        ajv.validate(`openapi#/${answer}/${media}`, []),
        "a list is not a valid answer",
      ).toBe(false);
      return json;
    }
  });
});

interface Call {
  readonly id?: string;
  readonly body?: unknown;
  readonly status?: number;
}

describe("the protos as they are published", () => {
  const dist = `${root}packages/schema/dist/`;

  it("build on their own, and are what the one file holds", () => {
    const built = execFileSync("buf", ["build", `${dist}proto`, "-o", "-"], {
      cwd: tmpdir(),
    });
    const names = (bytes: Uint8Array) =>
      fromBinary(FileDescriptorSetSchema, bytes)
        .file.map(({ name }) => name)
        .toSorted();
    expect(names(built)).toEqual(names(readFileSync(`${dist}devtool.binpb`)));
    expect(names(built)).toContain("devtool/a2a/v1alpha/tool_call.proto");
  });
});
