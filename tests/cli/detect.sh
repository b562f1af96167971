# tests/cli/detect.sh: make_voc FOLDER: twelve pictures of 64 x 64, each with a light box on the left ("low") or on the
# right ("high"), as Pascal VOC; make_coco FOLDER and make_yolo FOLDER: the same pictures in other layouts. Read with
# `.`, behind cli.sh.

low='iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAAAAACPAi4CAAAAM0lEQVR42u3VMQEAMAjAMOTgXw9iNgNcfJAKyNvIYQEAANYB1QQAAACAm4A3
AgAAAOD3AAsVFT2DVm9mAAAAAElFTkSuQmCC'
high='iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAAAAACPAi4CAAAANUlEQVR42u3VMQ0AQAjAQOTgXw9iXsFPJDBwFXBrI5sFADAA1CcAAAC4CPgC
AAAAAACABeABcDHRrseJH3gAAAAASUVORK5CYII='

# voc_xml CLASS XMIN YMIN XMAX YMAX: boxes count from 1 and include their last pixel.
voc_xml() {
  echo "<annotation><size><width>64</width><height>64</height><depth>1</depth></size>"
  echo "<object><name>$1</name><difficult>0</difficult><bndbox><xmin>$2</xmin><ymin>$3</ymin><xmax>$4</xmax>"
  echo "<ymax>$5</ymax></bndbox></object></annotation>"
}

make_voc() {
  mkdir -p "$1/Annotations" "$1/JPEGImages"
  for i in 0 1 2 3 4 5; do
    echo "$low" | base64 -d >"$1/JPEGImages/low$i.png"
    echo "$high" | base64 -d >"$1/JPEGImages/high$i.png"
    voc_xml low 9 17 32 40 >"$1/Annotations/low$i.xml"
    voc_xml high 31 11 54 30 >"$1/Annotations/high$i.xml"
  done
}

make_coco() {
  mkdir -p "$1"
  images='' notes=''
  for i in 0 1 2 3 4 5; do
    echo "$low" | base64 -d >"$1/low$i.png"
    echo "$high" | base64 -d >"$1/high$i.png"
    images="$images{\"id\":$i,\"width\":64,\"height\":64,\"file_name\":\"low$i.png\"},"
    images="$images{\"id\":1$i,\"width\":64,\"height\":64,\"file_name\":\"high$i.png\"},"
    notes="$notes{\"image_id\":$i,\"category_id\":3,\"bbox\":[8,16,24,24]},"
    notes="$notes{\"image_id\":1$i,\"category_id\":5,\"bbox\":[30,10,24,20]},"
  done
  echo "{\"images\":[${images%,}],\"categories\":[{\"id\":3,\"name\":\"low\"},{\"id\":5,\"name\":\"high\"}]," \
    "\"annotations\":[${notes%,}]}" >"$1/boxes.json"
}

make_yolo() {
  mkdir -p "$1/images" "$1/labels"
  printf 'names:\n  0: low\n  1: high\n' >"$1/data.yaml"
  for i in 0 1 2 3 4 5; do
    echo "$low" | base64 -d >"$1/images/low$i.png"
    echo "$high" | base64 -d >"$1/images/high$i.png"
    echo '0 0.3125 0.4375 0.375 0.375' >"$1/labels/low$i.txt"
    echo '1 0.65625 0.3125 0.375 0.3125' >"$1/labels/high$i.txt"
  done
}
