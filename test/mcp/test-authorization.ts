import type { JsonObject } from "@bufbuild/protobuf";
import type { createMcp } from "@devtool/mcp";
import {
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  type OAuthClientProvider,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from "./sdk.ts";

type McpOptions = NonNullable<Parameters<typeof createMcp>[0]>;
type McpAuthorization = NonNullable<
  ReturnType<NonNullable<McpOptions["authorize"]>>
>;
type ClientInformation = Awaited<
  ReturnType<OAuthClientProvider["clientInformation"]>
>;
type Tokens = Awaited<ReturnType<OAuthClientProvider["tokens"]>>;

/**
 * The context that the conformance suite gives a client besides the address, by
 * the suite's names.
 */
export interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  readonly signing_algorithm?: string;
  readonly idp_client_id?: string;
  readonly idp_id_token?: string;
  readonly idp_token_endpoint?: string;
  /** The calls that a scenario wants. */
  readonly toolCalls?: readonly {
    readonly name: string;
    readonly arguments: JsonObject;
  }[];
}

/**
 * Makes the authorization of a scenario: a user who agrees to all, or an
 * account of a machine.
 */
export function testAuthorization(
  scenario: string,
  context: Context,
): McpAuthorization {
  const { client_id: clientId = "", client_secret: clientSecret = "" } =
    context;
  switch (scenario) {
    case "auth/client-credentials-basic":
      return {
        provider: new ClientCredentialsProvider({ clientId, clientSecret }),
      };
    case "auth/client-credentials-jwt": {
      const {
        private_key_pem: privateKey = "",
        signing_algorithm: algorithm = "",
      } = context;
      return {
        provider: new PrivateKeyJwtProvider({
          clientId,
          privateKey,
          algorithm,
        }),
      };
    }
    case "auth/enterprise-managed-authorization":
      return { provider: crossAppAccess(context) };
    default: {
      const user = new AgreeingUser(
        clientId === ""
          ? undefined
          : { client_id: clientId, client_secret: clientSecret },
      );
      return { provider: user, callback: () => user.comesBack() };
    }
  }
}

function crossAppAccess(context: Context): CrossAppAccessProvider {
  const {
    client_id: clientId = "",
    client_secret: clientSecret = "",
    idp_client_id: idpClientId = "",
  } = context;
  const { idp_id_token: idToken = "", idp_token_endpoint: tokenEndpoint = "" } =
    context;
  return new CrossAppAccessProvider({
    clientId,
    clientSecret,
    assertion: async ({
      authorizationServerUrl,
      resourceUrl,
      scope,
      fetchFn,
    }) => {
      const grant = await requestJwtAuthorizationGrant({
        tokenEndpoint,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken,
        clientId: idpClientId,
        ...(scope !== undefined && { scope }),
        fetchFn,
      });
      return grant.jwtAuthGrant;
    },
  });
}

/**
 * Keeps tokens in memory, and goes to the authorization server as a user who
 * agrees would.
 */
class AgreeingUser implements OAuthClientProvider {
  readonly redirectUrl = "http://localhost:3000/callback";
  readonly clientMetadataUrl =
    "https://conformance-test.local/client-metadata.json";
  readonly clientMetadata = {
    client_name: "devtool",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "client_secret_post",
  };
  #client: ClientInformation;
  #tokens: Tokens;
  #verifier = "";
  #parameters = Promise.withResolvers<URLSearchParams>();

  constructor(client: ClientInformation) {
    this.#client = client;
  }

  async comesBack(): Promise<URLSearchParams> {
    const parameters = await this.#parameters.promise;
    this.#parameters = Promise.withResolvers();
    return parameters;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const response = await fetch(url, { redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null) {
      throw new Error(`the authorization server answered ${response.status}`);
    }
    this.#parameters.resolve(new URL(location).searchParams);
  }

  clientInformation(): ClientInformation {
    return this.#client;
  }

  saveClientInformation(client: NonNullable<ClientInformation>): void {
    this.#client = client;
  }

  tokens(): Tokens {
    return this.#tokens;
  }

  saveTokens(tokens: NonNullable<Tokens>): void {
    this.#tokens = tokens;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}
