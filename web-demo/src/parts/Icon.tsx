// The page's few pictograms, drawn with the current text colour. Always beside a text or in a labelled button, so hidden from screen readers.
const PATHS = {
  tide: "M3 8c3-2.7 6-2.7 9 0s6 2.7 9 0M3 13c3-2.7 6-2.7 9 0s6 2.7 9 0M3 18c3-2.7 6-2.7 9 0s6 2.7 9 0",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20c1-3.7 4-5.5 7.5-5.5s6.5 1.8 7.5 5.5",
  graph: "M12 3 20 7.5v9L12 21l-8-4.5v-9L12 3ZM12 3l7.5 13.3h-15L12 3Z",
  gear: "M12 15.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM10.3 3h3.4l.5 2.5 1.9 1.1 2.4-.8 1.7 2.9-1.9 1.7v2.2l1.9 1.7-1.7 2.9-2.4-.8-1.9 1.1-.5 2.5h-3.4l-.5-2.5-1.9-1.1-2.4.8-1.7-2.9 1.9-1.7v-2.2L3.8 8.7l1.7-2.9 2.4.8 1.9-1.1.5-2.5Z",
  leave: "M14 4H6v16h8M10 12h11M17.5 8.5 21 12l-3.5 3.5",
  picture: "M4 5h16v14H4zM4 16l5-5 4 4 2.5-2.5L20 17M15.5 9.5h.01",
  lens: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM15.5 15.5 20.5 20.5",
  bin: "M4 7h16M9.5 7V4.5h5V7M6.5 7l1 13h9l1-13M10.5 11v5.5M13.5 11v5.5",
  reply: "M12 4.2c4.9 0 8.8 3.2 8.8 7.2s-3.9 7.2-8.8 7.2c-.9 0-1.8-.1-2.6-.3L5 20.3l.6-4C4.2 15 3.2 13.3 3.2 11.4c0-4 3.9-7.2 8.8-7.2Z",
  repost: "M7 20 3.5 16.5 7 13M3.5 16.5H17a2 2 0 0 0 2-2V12M17 4l3.5 3.5L17 11M20.5 7.5H7a2 2 0 0 0-2 2V12",
  heart: "M12 20C5 15 3 11.5 3 8.7A4.7 4.7 0 0 1 12 6.9a4.7 4.7 0 0 1 9 1.8C21 11.5 19 15 12 20Z",
  bookmark: "M6.5 4h11v16L12 15.8 6.5 20V4Z",
  home: "M4 11 12 4l8 7v9h-5.5v-6h-5v6H4v-9Z",
  pen: "m4 20 1-4.5L16.5 4 20 7.5 8.5 19 4 20ZM14 6.5 17.5 10",
  cross: "M6 6l12 12M18 6 6 18",
  arrowLeft: "M20 12H4M11 5l-7 7 7 7",
  more: "M5.5 12h.01M12 12h.01M18.5 12h.01",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17",
  share: "M12 15V3.5M7.5 8 12 3.5 16.5 8M5 12v8h14v-8",
  mute: "M4 9.5v5h3.5L12 19V5L7.5 9.5H4ZM16 9.5l5 5M21 9.5l-5 5",
  hide: "M4 4l16 16M9.5 5.5A9 9 0 0 1 21 12a12 12 0 0 1-2.5 3.5M6 7.5A12 12 0 0 0 3 12c2 4 5 6.5 9 6.5a9 9 0 0 0 4-1M10 10a2.8 2.8 0 0 0 4 4",
  block: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17ZM6 6l12 12",
  arrowUp: "M12 19V5M6 11l6-6 6 6",
  arrowDown: "M12 5v14M6 13l6 6 6-6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return <svg className="icon" viewBox="0 0 24 24" aria-hidden="true"><path d={PATHS[name]} /></svg>;
}
