import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentCardSchema as CardV03Schema } from "../gen/devtool/a2a/v1alpha/agent_card_pb.ts";
import { AgentCardSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { agentCardFromV03 } from "./agent-card.ts";
import { encodeA2aJson } from "./json.ts";

describe("agentCardFromV03", () => {
  const read = (json: JsonValue) =>
    encodeA2aJson(
      AgentCardSchema,
      agentCardFromV03(fromJson(CardV03Schema, json)),
    );

  it("lists the preferred interface first, and each interface once", () => {
    const card = {
      url: "https://a/rpc",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [
        { url: "https://a/rest", transport: "HTTP+JSON" },
        { url: "https://a/rpc", transport: "JSONRPC" },
      ],
    };
    expect(read(card)).toMatchObject({
      supportedInterfaces: [
        {
          url: "https://a/rpc",
          protocolBinding: "JSONRPC",
          protocolVersion: "0.3",
        },
        {
          url: "https://a/rest",
          protocolBinding: "HTTP+JSON",
          protocolVersion: "0.3",
        },
      ],
    });
  });

  it("assumes JSON-RPC if the agent states no preference", () => {
    expect(read({ url: "https://a/" })).toMatchObject({
      supportedInterfaces: [{ protocolBinding: "JSONRPC" }],
    });
  });

  it("has the security schemes, except OAuth", () => {
    const securitySchemes = {
      token: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "JWT",
        description: "A token.",
      },
      key: { type: "apiKey", in: "header", name: "x-key" },
      issuer: { type: "openIdConnect", openIdConnectUrl: "https://issuer/" },
      certificate: { type: "mutualTLS" },
      oauth: { type: "oauth2" },
    };
    expect(
      read({
        url: "https://a/",
        securitySchemes,
        security: [{ token: ["read"] }, { key: [] }],
      }),
    ).toMatchObject({
      securitySchemes: {
        token: {
          httpAuthSecurityScheme: {
            scheme: "bearer",
            bearerFormat: "JWT",
            description: "A token.",
          },
        },
        key: { apiKeySecurityScheme: { location: "header", name: "x-key" } },
        issuer: {
          openIdConnectSecurityScheme: { openIdConnectUrl: "https://issuer/" },
        },
        certificate: { mtlsSecurityScheme: {} },
      },
      securityRequirements: [
        { schemes: { token: { list: ["read"] } } },
        { schemes: { key: {} } },
      ],
    });
  });
});
