// Points on a canvas: they are written as pixels, so that no graphics card is needed; d3 says how they are moved.
const { select, zoom, zoomIdentity } = globalThis.d3;
const STEP = 60; // pixels that an arrow moves
const NEAR = 3; // pixels around a point that are of it
const OPAQUE = 255 << 24;
const MANY = 20000; // points from which on they are small

// The pixels of a dot, and how much of each it covers, of 255.
function dotOf(radius) {
  const reach = Math.ceil(radius);
  const found = [];
  for (let y = -reach; y <= reach; y += 1) {
    for (let x = -reach; x <= reach; x += 1) {
      const covered = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
      if (covered > 0) found.push([x, y, Math.round(255 * covered)]);
    }
  }
  return { reach, found };
}
const CROSS = { reach: 1, found: [[0, -1], [-1, 0], [0, 0], [1, 0], [0, 1]] }; // of many, whose edges nobody sees

// Draw n points at places (x, y, x, y …; y goes up) in colours (0xBBGGRR), and let a mouse, fingers and keys move them.
export function draw(place, places, colours) {
  const many = colours.length > MANY;
  const radius = many ? 1 : 3;
  const canvas = document.createElement("canvas");
  canvas.className = "points";
  place.append(canvas);
  const pen = canvas.getContext("2d");
  const extent = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < places.length; i += 2) {
    extent[0] = Math.min(extent[0], places[i]);
    extent[1] = Math.min(extent[1], places[i + 1]);
    extent[2] = Math.max(extent[2], places[i]);
    extent[3] = Math.max(extent[3], places[i + 1]);
  }
  const [left, low, right, high] = extent;
  let moved = zoomIdentity;
  let asked = 0;
  let image, pixels, dot;

  // A place (x, y) is seen at (right * x + across, down * y + along), in pixels of the page.
  function seen() {
    const [wide, tall] = [place.clientWidth, place.clientHeight];
    const scale = 0.9 * Math.min(wide / Math.max(right - left, 1e-9), tall / Math.max(high - low, 1e-9)) * moved.k;
    return {
      scale,
      across: moved.k * wide / 2 + moved.x - scale * (left + right) / 2,
      along: moved.k * tall / 2 + moved.y + scale * (low + high) / 2,
    };
  }

  function paint() {
    asked = 0;
    const dense = canvas.width / Math.max(place.clientWidth, 1);
    const { scale, across, along } = seen();
    const [step, dx, dy] = [scale * dense, across * dense, along * dense];
    const { reach, found } = dot;
    const [wide, tall] = [canvas.width - reach, canvas.height - reach];
    const shifts = Int32Array.from(found, ([x, y]) => y * canvas.width + x);
    const covers = Int32Array.from(found, ([, , cover]) => cover);
    pixels.fill(0);
    for (let i = 0; i < colours.length; i += 1) {
      const x = Math.floor(places[2 * i] * step + dx + 0.5);
      const y = Math.floor(dy - places[2 * i + 1] * step + 0.5);
      if (x < reach || x >= wide || y < reach || y >= tall) continue;
      const middle = y * canvas.width + x;
      const colour = colours[i];
      if (many) {
        for (let j = 0; j < shifts.length; j += 1) pixels[middle + shifts[j]] = colour | OPAQUE;
        continue;
      }
      for (let j = 0; j < shifts.length; j += 1) {
        const pixel = middle + shifts[j];
        if (covers[j] >= pixels[pixel] >>> 24) pixels[pixel] = colour | (covers[j] << 24);
      }
    }
    pen.putImageData(image, 0, 0);
  }

  function soon() {
    if (!asked) asked = requestAnimationFrame(paint);
  }

  function fit() {
    const dense = many ? 1 : globalThis.devicePixelRatio;
    canvas.width = Math.max(1, Math.round(place.clientWidth * dense));
    canvas.height = Math.max(1, Math.round(place.clientHeight * dense));
    image = pen.createImageData(canvas.width, canvas.height);
    pixels = new Int32Array(image.data.buffer);
    dot = many ? CROSS : dotOf(radius * dense);
    paint();
  }

  fit();
  new ResizeObserver(fit).observe(place);

  const mover = zoom().scaleExtent([0.1, 2 ** 40]).on("zoom", ({ transform }) => { moved = transform; soon(); });
  const target = select(canvas).call(mover).on("dblclick.zoom", null);
  const keys = {
    ArrowLeft: (k) => target.call(mover.translateBy, STEP / k, 0),
    ArrowRight: (k) => target.call(mover.translateBy, -STEP / k, 0),
    ArrowUp: (k) => target.call(mover.translateBy, 0, STEP / k),
    ArrowDown: (k) => target.call(mover.translateBy, 0, -STEP / k),
    "+": () => target.call(mover.scaleBy, 1.5),
    "=": () => target.call(mover.scaleBy, 1.5),
    "-": () => target.call(mover.scaleBy, 1 / 1.5),
  };
  place.addEventListener("keydown", (event) => {
    if (event.target !== place || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key](moved.k);
  });

  return {
    canvas,
    extent,
    whole: () => target.call(mover.transform, zoomIdentity),
    placeOf([x, y]) {
      const { scale, across, along } = seen();
      return [(x - across) / scale, (along - y) / scale];
    },
    // The point that is drawn nearest to where a mouse is, or -1.
    nearest(x, y) {
      const { scale, across, along } = seen();
      let [found, least] = [-1, (radius + NEAR) ** 2];
      for (let i = 0; i < colours.length; i += 1) {
        const far = (places[2 * i] * scale + across - x) ** 2 + (along - places[2 * i + 1] * scale - y) ** 2;
        if (far <= least) [found, least] = [i, far];
      }
      return found;
    },
  };
}
