(() => {
  "use strict";
  const root = document.documentElement;
  const tip = document.getElementById("tip");
  const button = document.getElementById("theme");
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  const system = matchMedia("(prefers-color-scheme: dark)");

  /* Light or dark: as the system says until the button is pressed; kept for this page only. */
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`);
    button.setAttribute("aria-pressed", String(dark()));
  };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  button.hidden = false;
  name();

  /* In print everything is open. */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));

  const shown = (value) => {
    if (value === null || value === undefined) return "not known";
    const text = Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : String(Number(value.toPrecision(9)));
    return text.replace("-", "\u2212").replace("e-", "e\u2212");
  };
  const place = (scale, value) => {
    const v = scale.log ? Math.log10(value) : value;
    return scale.first + (scale.last - scale.first) * ((v - scale.low) / (scale.high - scale.low));
  };
  const drawable = (value, log) => value !== null && (value > 0 || !log);

  /* The drawn points of every curve of a chart, with their places. */
  const curvesOf = (about) => about.curves.map((curve) => {
    const xs = numbers.tables[curve.table][curve.x];
    const ys = numbers.tables[curve.table][curve.y];
    const points = [];
    xs.forEach((x, k) => {
      if (drawable(x, about.across.log) && drawable(ys[k], about.up.log)) {
        points.push({ x, y: ys[k], at: place(about.across, x), up: place(about.up, ys[k]) });
      }
    });
    return { name: curve.name, style: curve.style, points };
  }).filter((curve) => curve.points.length);

  const nearest = (points, at, up) => points.reduce((best, point) => {
    const far = Math.abs(point.at - at) + 1e-3 * Math.abs(point.up - up);
    return best === null || far < best.far ? { point, far } : best;
  }, null);

  const part = (svg, kind, attributes) => {
    const made = document.createElementNS(svg.namespaceURI, kind);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };

  const mark = (svg, about, found) => {
    const group = part(svg, "g", { class: "hover" });
    group.append(part(svg, "line", { x1: found[0].point.at, x2: found[0].point.at, y1: about.up.last, y2: about.up.first }));
    found.forEach(({ point, curve }) => {
      const dot = part(svg, "g", { class: `s${curve.style}` });
      dot.append(part(svg, "circle", { cx: point.at, cy: point.up, r: 4.5 }));
      group.append(dot);
    });
    svg.append(group);
  };

  const tell = (about, found) => {
    const head = document.createElement("b");
    head.textContent = `${about.labels[0]}: ${shown(found[0].point.x)}`;
    tip.replaceChildren(head, ...found.map(({ point, curve }) => {
      const line = document.createElement("div");
      line.textContent = `${curve.name}: ${shown(point.y)}`;
      return line;
    }));
  };

  const put = (svg, point) => {
    tip.hidden = false;
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const x = box.left + scrollX + point.at * scale;
    const right = x + 16 + tip.offsetWidth < scrollX + root.clientWidth;
    tip.style.left = `${right ? x + 14 : Math.max(scrollX + 4, x - tip.offsetWidth - 14)}px`;
    tip.style.top = `${box.top + scrollY + Math.max(8, point.up * scale - tip.offsetHeight - 8)}px`;
  };

  document.querySelectorAll("svg[data-chart]").forEach((svg) => {
    const about = numbers.charts[svg.dataset.chart];
    const curves = curvesOf(about);
    let step = 0;
    const clear = () => { svg.querySelectorAll(".hover").forEach((old) => old.remove()); tip.hidden = true; };
    const show = (at, up) => {
      const near = curves.map((curve) => ({ ...nearest(curve.points, at, up), curve })).sort((a, b) => a.far - b.far);
      const found = near.filter(({ point }) => Math.abs(point.at - near[0].point.at) < 24);
      clear();
      mark(svg, about, found);
      tell(about, found);
      put(svg, found[0].point);
    };
    const follow = (event) => {
      const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      show(spot.x, spot.y);
    };
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
    svg.addEventListener("pointerleave", clear);
    svg.addEventListener("blur", clear);
    svg.addEventListener("keydown", (event) => {
      const points = curves[0].points;
      if (event.key === "Escape") { clear(); return; }
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      step = Math.min(points.length - 1, Math.max(0, step + (event.key === "ArrowRight" ? 1 : -1)));
      show(points[step].at, points[step].up);
      event.preventDefault();
    });
  });
})();
