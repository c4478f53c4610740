import { type HttpBinding, httpBindingsOf, requestJson } from "@devtool/schema/a2a-v1";
import { type HttpRequest, type HttpResponse, pathOf, type Route } from "../http/route.ts";
import type { Endpoint } from "./endpoint.ts";
import { contextOf, type Operation } from "./operation.ts";
import { jsonBodyOf, respondTo } from "./rest-response.ts";

/** A2A 1.0 over HTTP+JSON: a route for each way in which an annotation of the proto says that a method is called. */
export function restRoutes(endpoint: Endpoint): Route[] {
  const bound = [...endpoint.operations.values()].flatMap((operation) =>
    httpBindingsOf(operation.spec.method).map((binding) => ({ operation, binding })),
  );
  // `/tasks/{id}` takes what ends in a verb too, so those with one are looked at first.
  const ordered = [...bound.filter(hasVerb), ...bound.filter((item) => !hasVerb(item))];
  return ordered.map((item) => routeOf(item, endpoint));
}

interface Bound {
  readonly operation: Operation;
  readonly binding: HttpBinding;
}

function hasVerb({ binding }: Bound): boolean {
  return /:\w+$/.test(binding.template);
}

function routeOf(bound: Bound, endpoint: Endpoint): Route {
  const { httpMethod, template, match } = bound.binding;
  return {
    name: `${httpMethod} ${template}`,
    access: "token",
    matches: (method, path) => method === httpMethod && match(path) !== undefined,
    handle: (request, response) => handle(request, response, { ...endpoint, ...bound }),
  };
}

function handle(
  request: HttpRequest,
  response: HttpResponse,
  { operation, binding, ...rest }: Handling,
): Promise<void> {
  const endpoint: Endpoint = rest;
  return respondTo(request, response, endpoint, async (signal) => {
    const context = contextOf(request, operation.spec, signal);
    const json = requestJson(operation.spec.method.input, binding, {
      variables: binding.match(pathOf(request)) ?? new Map(),
      query: new URLSearchParams((request.url ?? "").split("?", 2)[1] ?? ""),
      // A method that takes no body does not look at one.
      body: binding.body === "" ? undefined : await jsonBodyOf(request, endpoint.maxRequestBytes),
    });
    return { answer: await operation.run(json, context), headers: () => context.answerHeaders };
  });
}

interface Handling extends Endpoint, Bound {}
