import { type HttpRequest, type HttpResponse, nothingServed, type Route, routeOf } from "./route.ts";

/**
 * Routes that are loaded when the first request comes that none before them took: a server is ready before it has read
 * what only callers need. Stands last. Who comes needs the token, whatever the routes themselves would take.
 */
export function lazyRoute(load: () => Promise<readonly Route[]>): Route {
  let loading: Promise<readonly Route[]> | undefined;
  return {
    name: "loaded when needed",
    access: "token",
    matches: () => true,
    handle: async (request: HttpRequest, response: HttpResponse) => {
      loading ??= load();
      const route = routeOf(await loading, request);
      if (route) await route.handle(request, response);
      else nothingServed(request, response);
    },
  };
}
