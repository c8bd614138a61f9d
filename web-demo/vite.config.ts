// Builds two pages into dist/: the app (/) and GraphiQL (/graphiql/). In development the API is taken from TIDEFEED_URL.
import { resolve } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const server = process.env.TIDEFEED_URL ?? "http://127.0.0.1:8080";
const ofTheServer = Object.fromEntries(["/pictures", "/avatars", "/banners", "/portraits", "/clips", "/export"].map((path) => [path, { target: server }]));

/** What the app's entry imports later is fetched beside it, not after it has run. */
const fetchedAhead: Plugin = {
  name: "fetched-ahead",
  transformIndexHtml: {
    order: "post",
    handler: (_html, { chunk, path, bundle = {} }) => {
      if (path !== "/index.html" || chunk === undefined) return [];
      const later = chunk.dynamicImports.flatMap((file) => {
        const imported = bundle[file];
        return [file, ...(imported?.type === "chunk" ? imported.imports : [])];
      });
      const missing = new Set(later.filter((file) => file !== chunk.fileName && !chunk.imports.includes(file)));
      return [...missing].map((file) => ({ tag: "link", injectTo: "head", attrs: { rel: "modulepreload", crossorigin: true, href: `./${file}` } }));
    },
  },
};

export default defineConfig({
  base: "./", // A proxy may serve the pages below a path, and a page may be deep (src/api/public_pages/html.rs).
  plugins: [react(), fetchedAhead],
  // The packages bring modules of their own for their tests: the page has one React.
  resolve: { dedupe: ["react", "react-dom", "graphql", "graphql-ws", "@tidefeed/client"] },
  server: { host: "127.0.0.1", proxy: { "/graphql": { target: server, ws: true }, ...ofTheServer } },
  // For `npm run dev`. What starts GraphiQL's workers by "?worker" imports cannot be bundled ahead; what they need that is CommonJS must be.
  optimizeDeps: {
    exclude: ["graphiql/setup-workers/vite", "@graphiql/react/setup-workers/vite"],
    include: ["picomatch-browser", "graphql-language-service"].map((worker) => `graphiql > @graphiql/react > monaco-graphql > ${worker}`),
  },
  build: {
    target: "es2022",
    chunkSizeWarningLimit: 8000, // GraphiQL brings the Monaco editor; the app itself stays far below.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // What the entry needs is one file, not four: a browser has six connections to a server.
      output: { codeSplitting: { groups: [{ name: "client", test: /clients\/typescript|graphql-ws|src\/(root|api\/(tidefeed|timelineLists))\.ts|preload-helper/ }] } },
      // GraphiQL's modules carry "use no memo", which means nothing to a bundler.
      onLog: (level, log, handle) => {
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") handle(level, log);
      },
      input: {
        app: resolve(import.meta.dirname, "index.html"),
        graphiql: resolve(import.meta.dirname, "graphiql/index.html"),
      },
    },
  },
});
