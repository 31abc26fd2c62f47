// The drawing of the graph page. The table below it has the same without this script. What it says is said by osii.js.
"use strict";

const MOST_NODES = 400;
const LARGEST_FIT = 1.3;
const SMALL = 0.75;
const NARROW = 500;
// Chats and documents are named however small the drawing is: by them one sees what a cluster is.
const SOURCES = "node[type = 'chat'], node[type = 'document']";

const SHAPES = {
  fact: "ellipse",
  preference: "hexagon",
  working_assumption: "triangle",
  constraint: "octagon",
  decision: "diamond",
  open_question: "pentagon",
  lesson: "star",
  chat: "round-rectangle",
  document: "rectangle",
};

const LAYOUT = {
  name: "cose",
  animate: false,
  idealEdgeLength: () => 70,
  nodeDimensionsIncludeLabels: true,
  nodeRepulsion: () => 9000,
  padding: 30,
};

// Colours come from the style sheet, through the legend: one table of colours for light and dark.
function colours(root) {
  const of = (element, property) => getComputedStyle(element).getPropertyValue(property);
  const kinds = {};
  root.querySelectorAll("[data-kind]").forEach((shape) => {
    kinds[shape.dataset.kind] = of(shape, "color");
  });
  const lines = {};
  root.querySelectorAll("[data-line]").forEach((line) => {
    lines[line.dataset.line] = of(line, "color");
  });
  const canvas = root.querySelector("[data-graph-canvas]");
  return { kinds, lines, ink: of(canvas, "color"), surface: of(canvas, "background-color"), focus: of(canvas, "outline-color") };
}

// Not every script puts spaces between words; what does is not broken inside one.
function drawn(node) {
  return { ...node, unspaced: /\S{24,}/.test(node.label) };
}

// So many pixels on the screen, however small the drawing; and no less than `least` of its own.
function apparent(node, pixels, least) {
  const narrow = node.cy().width() < NARROW ? 0.8 : 1;
  return Math.max(least, (narrow * pixels) / node.cy().zoom());
}

function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function styleOf(root) {
  const { kinds, lines, ink, surface, focus } = colours(root);
  const style = [
    {
      selector: "node",
      style: {
        "background-color": kinds.chat,
        "border-color": ink,
        "border-width": 0,
        color: ink,
        "font-family": getComputedStyle(document.body).fontFamily,
        "font-size": 12,
        height: 22,
        label: "data(label)",
        "min-zoomed-font-size": 8,
        "text-margin-y": 4,
        "text-max-width": 130,
        "text-outline-color": surface,
        "text-outline-width": 2,
        "text-valign": "bottom",
        "text-wrap": "wrap",
        width: 22,
      },
    },
    {
      selector: SOURCES,
      style: {
        "font-size": (node) => apparent(node, 11, 15),
        "font-weight": "bold",
        "min-zoomed-font-size": 0,
        "text-max-width": (node) => apparent(node, 100, 130),
        "text-outline-width": (node) => apparent(node, 2, 2),
        "text-wrap": (node) => (node.cy().zoom() < SMALL ? "ellipsis" : "wrap"),
      },
    },
    { selector: "node[type = 'chat']", style: { width: 34, height: 20 } },
    { selector: "node[type = 'document']", style: { width: 22, height: 30 } },
    {
      selector: "node[state = 'superseded'], node[state = 'forgotten'], node[state = 'no_evidence']",
      style: { "background-opacity": 0.25, "border-width": 2, "border-style": "dashed" },
    },
    { selector: "node[?unspaced]", style: { "text-overflow-wrap": "anywhere" } },
    {
      selector: "edge",
      style: {
        "curve-style": "bezier",
        "font-size": 10,
        color: ink,
        "line-color": lines.gave,
        "min-zoomed-font-size": 8,
        "target-arrow-color": lines.gave,
        "text-background-color": surface,
        "text-background-opacity": 1,
        "text-rotation": "autorotate",
        width: 1,
      },
    },
    {
      selector: "edge[type = 'supersedes']",
      style: { width: 2.5, label: "data(type)", "target-arrow-shape": "triangle" },
    },
    {
      selector: "edge[type = 'contradicts']",
      style: { width: 2.5, label: "data(type)", "line-style": "dashed", "source-arrow-shape": "tee", "target-arrow-shape": "tee" },
    },
    { selector: "edge[type = 'follows']", style: { "line-style": "dotted", width: 1.5, "target-arrow-shape": "vee" } },
    {
      selector: "node:selected",
      style: { "border-width": 4, "border-style": "solid", "border-color": focus, "min-zoomed-font-size": 0, "z-index": 9 },
    },
  ];
  for (const [kind, shape] of Object.entries(SHAPES)) {
    style.push({ selector: `node[kind = '${kind}']`, style: { shape, "background-color": kinds[kind] } });
  }
  for (const [type, colour] of Object.entries(lines)) {
    style.push({
      selector: `edge[type = '${type}']`,
      style: { "line-color": colour, "target-arrow-color": colour, "source-arrow-color": colour },
    });
  }
  return style;
}

class Drawing {
  constructor(root) {
    this.root = root;
    this.canvas = root.querySelector("[data-graph-canvas]");
    this.actions = root.querySelector("[data-graph-actions]");
    this.said = root.querySelector("[data-graph-node]");
    this.expanded = new Set();
  }

  async start() {
    let answer;
    try {
      answer = await this.fetch(this.root.dataset.graph);
    } catch (error) {
      return; // the table is there
    }
    this.root.hidden = false;
    this.cy = cytoscape({
      container: this.canvas,
      elements: this.elements(answer),
      style: styleOf(this.root),
      layout: LAYOUT,
      maxZoom: 3,
      minZoom: 0.1,
      selectionType: "single",
    });
    this.listen();
    this.fit();
    this.count();
    if (answer.focus) {
      this.expanded.add(answer.focus);
      this.choose(this.cy.getElementById(answer.focus));
    }
  }

  async fetch(address) {
    const response = await fetch(address, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    if (!response.ok || response.redirected) {
      throw new Error(`The server answered ${response.status}.`);
    }
    return response.json();
  }

  elements(answer) {
    const known = (id) => Boolean(this.cy && this.cy.getElementById(id).length);
    return [
      ...answer.nodes.filter((node) => !known(node.id)).map((node) => ({ group: "nodes", data: drawn(node) })),
      ...answer.edges.filter((edge) => !known(edge.id)).map((data) => ({ group: "edges", data })),
    ];
  }

  listen() {
    this.cy.on("select", "node", (event) => this.show(event.target));
    let named = 0;
    this.cy.on("zoom", () => {
      cancelAnimationFrame(named); // once for all that a wheel turns before the next picture
      named = requestAnimationFrame(() => this.cy.nodes(SOURCES).updateStyle());
    });
    this.cy.on("dbltap", "node", (event) => this.expand(event.target));
    this.root.querySelector("[data-graph-expand]").addEventListener("click", () => this.expand(this.chosen()));
    this.root.querySelector("[data-graph-fit]").addEventListener("click", () => this.fit());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    const restyle = () => this.cy.style(styleOf(this.root));
    const themes = new MutationObserver(restyle);
    themes.observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", restyle);
    this.end = () => {
      themes.disconnect();
      system.removeEventListener("change", restyle);
      cancelAnimationFrame(named);
      this.cy.destroy();
    };
  }

  chosen() {
    return this.cy.$("node:selected").first();
  }

  choose(node) {
    if (node.length) {
      this.cy.$(":selected").unselect();
      node.select();
    }
  }

  show(node) {
    const data = node.data();
    const line = (tag, text, name) => {
      const element = document.createElement(tag);
      element.textContent = text;
      if (name) {
        element.className = name;
      }
      return element;
    };
    const claim = line("p", data.text, "graph-claim");
    claim.dir = "auto";
    const words = [data.kind_word, data.level && `level: ${data.level}`, data.state_word];
    if (data.evidence !== undefined) {
      words.push(`${counted(data.evidence, "piece")} of evidence`);
    }
    const joined = node.connectedEdges().map((edge) => this.edgeWords(node, edge));
    const list = document.createElement("ul");
    joined.slice(0, 8).forEach((text) => {
      const item = line("li", text);
      item.dir = "auto";
      list.append(item);
    });
    if (joined.length > 8 || data.more) {
      list.append(line("li", `and ${Math.max(0, joined.length - 8) + (data.more || 0)} more`, "text-muted-2"));
    }
    const facts = words.filter(Boolean).join(" · ");
    this.said.replaceChildren(claim, line("p", facts, "text-muted-2"), list);
    announce(`${data.text} ${facts}`);
    this.actions.hidden = false;
    this.root.querySelector("[data-graph-open]").href = data.url;
    this.root.querySelector("[data-graph-centre]").href = data.centre;
    this.root.querySelector("[data-graph-expand]").disabled = this.expanded.has(data.id);
  }

  edgeWords(node, edge) {
    const from = edge.source().id() === node.id();
    const other = from ? edge.target() : edge.source();
    const back = { supersedes: "superseded by", follows: "followed by", contradicts: "contradicts", gave: `from ${other.data("type")}` };
    const word = from ? { gave: "gave" }[edge.data("type")] || edge.data("type") : back[edge.data("type")];
    return `${word}: ${other.data("label")}`;
  }

  async expand(node) {
    if (!node.length || this.expanded.has(node.id())) {
      return;
    }
    if (this.cy.nodes().length >= MOST_NODES) {
      this.tell(`The drawing holds ${MOST_NODES} nodes. Put one in the middle to go on from it.`);
      return;
    }
    let answer;
    try {
      answer = await this.fetch(node.data("around"));
    } catch (error) {
      this.tell("The server does not answer. Nothing was added.");
      return;
    }
    this.expanded.add(node.id());
    const around = node.position();
    const before = this.cy.nodes().length;
    this.cy.add(this.elements(answer)).nodes().forEach((one, index, all) => {
      const angle = (2 * Math.PI * index) / all.length;
      one.position({ x: around.x + 120 * Math.cos(angle), y: around.y + 120 * Math.sin(angle) });
    });
    if (this.cy.nodes().length > before) {
      // From where everything stands: what was there moves a little, and the view stays.
      this.cy.layout({ ...LAYOUT, fit: false, randomize: false }).run();
    }
    this.count();
    this.show(node);
    this.tell(`${counted(this.cy.nodes().length - before, "node")} added.`);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const turn = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const act = {
      Enter: () => this.expand(this.chosen()),
      o: () => this.chosen().length && window.location.assign(this.chosen().data("url")),
      "+": () => this.zoom(1.25),
      "-": () => this.zoom(0.8),
      f: () => this.fit(),
    }[event.key];
    if (turn) {
      this.move(turn);
    } else if (act) {
      act();
    } else {
      return;
    }
    event.preventDefault();
  }

  // The nearest node in that direction; what lies off to the side counts as farther.
  move([dx, dy]) {
    const here = this.chosen();
    if (!here.length) {
      this.choose(this.cy.nodes().first());
      return;
    }
    const from = here.position();
    let best = null;
    let least = Infinity;
    this.cy.nodes().forEach((node) => {
      const to = node.position();
      const along = (to.x - from.x) * dx + (to.y - from.y) * dy;
      const aside = Math.abs((to.x - from.x) * dy) + Math.abs((to.y - from.y) * dx);
      const far = along + 2 * aside;
      if (node.id() !== here.id() && along > 0 && far < least) {
        best = node;
        least = far;
      }
    });
    if (best) {
      this.choose(best);
      this.reveal(best);
    }
  }

  reveal(node) {
    const { x, y } = node.renderedPosition();
    if (x < 20 || y < 20 || x > this.cy.width() - 20 || y > this.cy.height() - 40) {
      this.cy.center(node);
    }
  }

  // All of it, and few nodes not larger than life.
  fit() {
    this.cy.fit(undefined, LAYOUT.padding);
    if (this.cy.zoom() > LARGEST_FIT) {
      this.cy.zoom(LARGEST_FIT);
      this.cy.center();
    }
  }

  zoom(by) {
    const middle = { x: this.cy.width() / 2, y: this.cy.height() / 2 };
    this.cy.zoom({ level: this.cy.zoom() * by, renderedPosition: middle });
  }

  count() {
    const counts = ["proposition", "chat", "document"].map((type) => counted(this.cy.nodes(`[type = '${type}']`).length, type));
    this.root.querySelector("[data-graph-count]").textContent = `Drawn: ${counts.join(", ")}.`;
  }

  tell(text) {
    announce(text);
    this.root.querySelector("[data-graph-count]").textContent = text;
  }
}

let drawing = null;

function draw(root) {
  const found = root.querySelector("[data-graph]");
  if (drawing && drawing.end) {
    drawing.end();
  }
  drawing = found ? new Drawing(found) : null;
  if (drawing) {
    drawing.start();
  }
}

document.addEventListener("DOMContentLoaded", () => draw(document));
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "results") {
    draw(event.target);
  }
});
