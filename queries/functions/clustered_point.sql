/*--- toml
answers = "Half the 95 % interval of a mean over rows in clusters, such as captions of images, in standard errors."
details = """
The point of Student's t for as many degrees of freedom as there are clusters, less one: clusters of one size would give
n * n / sizes of them, and of unequal ones this is fewer than there are; at least one degree.
"""
source = "Student (1908); the number of clusters is that of Kish, Survey Sampling (1965)"
returns = "double"

[params.n]
type = "double"
about = "rows"

[params.sizes]
type = "double"
about = "sum over clusters of the square of their rows"
---*/
SELECT student_point(greatest(floor($n / nullif($sizes, 0) * $n) - 1, 1)) AS point
